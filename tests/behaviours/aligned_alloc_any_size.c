/* aligned_alloc: the size need not be a multiple of the alignment (C17 with DR 460). */
#include "behaviour.h"

int main(void)
{
    for (size_t alignment = 16; alignment <= MEBI; alignment *= 2)
        for (size_t bytes = 1; bytes < 2 * MEBI; bytes = bytes * 9 + 1) {
            void *block = aligned_alloc(alignment, bytes);
            expect_aligned(block, alignment, "aligned_alloc", bytes);
            free(block);
        }
    return 0;
}
