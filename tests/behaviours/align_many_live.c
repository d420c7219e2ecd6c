/* Aligned blocks of all alignments that are live together keep their contents. */
#include "behaviour.h"

static size_t bytes_of(size_t i)
{
    return 1 + i * 37 % 3000;
}

int main(void)
{
    static void *blocks[600];
    for (size_t i = 0; i < COUNT_OF(blocks); i++) {
        size_t alignment = (size_t)16 << i % 12;
        blocks[i] = memalign(alignment, bytes_of(i));
        expect_aligned(blocks[i], alignment, "memalign", bytes_of(i));
        fill(blocks[i], bytes_of(i), i);
    }
    for (size_t i = 0; i < COUNT_OF(blocks); i++) {
        expect_filled(blocks[i], bytes_of(i), i);
        free(blocks[i]);
    }
    return 0;
}
