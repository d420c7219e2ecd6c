/* realloc aligns as malloc does, however the block got its size. */
#include "behaviour.h"

int main(void)
{
    void *block = NULL;
    for (size_t bytes = 16; bytes <= 4 * MEBI; bytes += 16 + bytes / 32 * 16) {
        block = realloc(block, bytes);
        expect_aligned(block, 16, "realloc", bytes);
    }
    for (size_t bytes = 4 * MEBI; bytes >= 16; bytes -= 16 + bytes / 32 * 16) {
        block = realloc(block, bytes);
        expect_aligned(block, 16, "realloc", bytes);
        if (bytes < 32)
            break;
    }
    free(block);
    return 0;
}
