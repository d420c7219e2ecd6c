/* memalign: every power of two from 16 to 64 MiB. */
#include "behaviour.h"

int main(void)
{
    for (size_t alignment = 16; alignment <= 64 * MEBI; alignment *= 2)
        for (size_t bytes = 1; bytes <= MEBI; bytes = bytes * 5 + 3) {
            char *block = memalign(alignment, bytes);
            expect_aligned(block, alignment, "memalign", bytes);
            block[0] = block[bytes - 1] = 1;
            free(block);
        }
    return 0;
}
