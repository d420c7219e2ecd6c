/* Blocks of an alignment freed and asked for again are aligned each time, between plain ones of the same size. */
#include "behaviour.h"

int main(void)
{
    for (int round = 0; round < 2000; round++) {
        size_t alignment = (size_t)32 << round % 8, bytes = 1 + (size_t)round * 13 % 2500;
        void *plain = malloc(bytes), *block = aligned_alloc(alignment, bytes);
        expect_aligned(block, alignment, "aligned_alloc", bytes);
        free(round % 2 ? plain : block);
        void *again = memalign(alignment, bytes);
        expect_aligned(again, alignment, "memalign", bytes);
        free(again);
        free(round % 2 ? block : plain);
    }
    return 0;
}
