/* malloc: a block of 16 bytes or more can hold a long double, so it is 16-aligned (C23 7.24.3). */
#include "behaviour.h"

int main(void)
{
    for (size_t bytes = 16; bytes <= 65536; bytes++) {
        void *block = malloc(bytes);
        expect_aligned(block, 16, "malloc", bytes);
        free(block);
    }
    return 0;
}
