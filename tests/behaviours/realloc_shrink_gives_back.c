/* realloc from 8 MiB to 16 bytes frees what it cuts off: the next block of 8 MiB needs no more memory. */
#include "behaviour.h"

int main(void)
{
    for (int i = 0; i < 6; i++) {
        void *block = dirty_block(8 * MEBI);
        expect(realloc(block, 16) != NULL, "realloc from 8 MiB to 16 bytes failed");
    }
    expect(memory_of_process(1) < 24 * MEBI, "%zu bytes are resident after six blocks of 8 MiB", memory_of_process(1));
    return 0;
}
