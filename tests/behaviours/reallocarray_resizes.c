/* reallocarray(p, m, n) is realloc(p, m * n) (POSIX.1-2024). */
#include "behaviour.h"

int main(void)
{
    void *block = NULL;
    for (size_t count = 1; count < 30000; count = count * 2 + 1) {
        block = reallocarray(block, count, 24);
        expect(block != NULL, "reallocarray to %zu * 24 failed", count);
        expect(malloc_usable_size(block) >= count * 24, "reallocarray to %zu * 24 has %zu usable bytes", count,
            malloc_usable_size(block));
        expect_filled(block, count / 2 * 24, 8);
        fill(block, count * 24, 8);
    }
    block = reallocarray(block, 3, 5);
    expect_filled(block, 15, 8);
    free(block);
    return 0;
}
