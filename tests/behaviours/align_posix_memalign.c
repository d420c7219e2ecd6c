/* posix_memalign: every power of two from 8 to 64 MiB (POSIX.1-2024). */
#include "behaviour.h"

int main(void)
{
    const size_t sizes[] = {1, 8, 24, 100, 1000, 5000, 70000, 2 * MEBI};
    for (size_t alignment = 8; alignment <= 64 * MEBI; alignment *= 2)
        for (size_t i = 0; i < COUNT_OF(sizes); i++) {
            void *block = NULL;
            int error = posix_memalign(&block, alignment, sizes[i]);
            expect(error == 0, "posix_memalign(%zu, %zu) returned %d", alignment, sizes[i], error);
            expect_aligned(block, alignment, "posix_memalign", sizes[i]);
            memset(block, 1, sizes[i] < 5000 ? sizes[i] : 5000);
            free(block);
        }
    return 0;
}
