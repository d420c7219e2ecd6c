/* malloc_trim(0) returns 1 and the resident memory falls, after 64 MiB of small blocks were freed (malloc_trim(3)); 0 is as
   good where the frees gave all back already. */
#include "behaviour.h"

/* What stays: the records of empty slabs, of 4 KiB each in some designs, and the live map of hardened ones. */
enum { STAYS = 20 << 20 };

int main(void)
{
    static void *blocks[64 * 1024];
    size_t before = memory_of_process(1);
    for (size_t i = 0; i < COUNT_OF(blocks); i++)
        blocks[i] = dirty_block(1000);
    void *last = malloc(1000);
    size_t full = memory_of_process(1);
    expect(full - before > 50 * MEBI, /* a heap may have prepared some */
         "64 MiB of blocks made %zu bytes resident", full - before);
    for (size_t i = 0; i < COUNT_OF(blocks); i++)
        free(blocks[i]);
    size_t freed = memory_of_process(1);
    int result = malloc_trim(0);
    size_t after = memory_of_process(1);
    expect(result == 1 || freed < before + STAYS, "malloc_trim(0) returned %d with %zu bytes resident", result,
        freed);
    expect(after < before + STAYS, "%zu bytes are resident after malloc_trim(0), %zu before the blocks", after,
        before);
    free(last);
    return 0;
}
