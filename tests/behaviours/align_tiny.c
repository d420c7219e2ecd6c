/* malloc: a block of fewer than 16 bytes is aligned for every object that fits in it (C23 7.24.3). */
#include "behaviour.h"

int main(void)
{
    for (size_t bytes = 1; bytes < 16; bytes++) {
        size_t alignment = bytes >= 8 ? 8 : bytes >= 4 ? 4 : bytes >= 2 ? 2 : 1;
        for (int i = 0; i < 50; i++)
            expect_aligned(malloc(bytes), alignment, "malloc", bytes);
    }
    return 0;
}
