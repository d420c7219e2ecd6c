/* aligned_alloc: every power of two from 1 to 64 MiB, sizes a multiple of it (C17 7.22.3.1). */
#include "behaviour.h"

int main(void)
{
    for (size_t alignment = 1; alignment <= 64 * MEBI; alignment *= 2)
        for (size_t count = 1; count <= 3; count++) {
            char *block = aligned_alloc(alignment, count * alignment);
            expect_aligned(block, alignment, "aligned_alloc", count * alignment);
            block[0] = block[count * alignment - 1] = 1;
            free(block);
        }
    return 0;
}
