/* realloc of aligned blocks of all kinds keeps the contents; the result is a block like any other. */
#include "behaviour.h"

int main(void)
{
    for (size_t alignment = 16; alignment <= 4 * MEBI; alignment *= 4)
        for (size_t from = 10; from < 300000; from = from * 5 + 1)
            for (size_t to = 3; to < 1000000; to *= 17) {
                void *block = memalign(alignment, from);
                fill(block, from, 6);
                block = realloc(block, to);
                expect(block != NULL, "realloc from %zu, aligned to %zu, to %zu failed", from, alignment, to);
                expect_filled(block, from < to ? from : to, 6);
                expect(malloc_usable_size(block) >= to, "realloc to %zu has %zu usable bytes", to,
                    malloc_usable_size(block));
                free(block);
            }
    return 0;
}
