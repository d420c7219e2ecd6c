/* calloc: all bytes are zero in small blocks that were written and freed before. */
#include "behaviour.h"

int main(void)
{
    for (size_t bytes = 1; bytes <= 3000; bytes += 1 + bytes / 20) {
        void *blocks[20];
        for (int i = 0; i < 20; i++)
            blocks[i] = dirty_block(bytes);
        for (int i = 0; i < 20; i++)
            free(blocks[i]);
        for (int i = 0; i < 20; i++)
            expect_zero(blocks[i] = calloc(bytes, 1), bytes);
        for (int i = 0; i < 20; i++)
            free(blocks[i]);
    }
    return 0;
}
