/* malloc: a block of 16 bytes or more can hold a long double, so it is 16-aligned (C23 7.24.3). */
#include "behaviour.h"

int main(void)
{
    for (size_t bytes = 16; bytes <= 65536; bytes++) {
        void *blocks[3];
        for (int i = 0; i < 3; i++)
            expect_aligned(blocks[i] = malloc(bytes), 16, "malloc", bytes);
        for (int i = 0; i < 3; i++)
            free(blocks[i]);
    }
    return 0;
}
