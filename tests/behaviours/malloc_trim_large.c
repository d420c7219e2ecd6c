/* malloc_trim(0) gives back what freed blocks of 100 KiB and of 1 MiB took. */
#include "behaviour.h"

int main(void)
{
    static void *blocks[256];
    const size_t sizes[] = {100 * 1024, MEBI / 4};
    size_t before = memory_of_process(1);
    for (size_t s = 0; s < COUNT_OF(sizes); s++) {
        for (size_t i = 0; i < COUNT_OF(blocks); i++)
            blocks[i] = dirty_block(sizes[s]);
        for (size_t i = 0; i < COUNT_OF(blocks); i++)
            free(blocks[i]);
        malloc_trim(0);
        size_t after = memory_of_process(1);
        expect(after < before + 10 * MEBI, "%zu bytes are resident after malloc_trim(0), %zu before the blocks",
            after, before);
    }
    return 0;
}
