/* malloc_trim(0) gives back what freed blocks of 5 MiB took, and returns 1 if it did (malloc_trim(3)). */
#include "behaviour.h"

int main(void)
{
    static void *blocks[8];
    malloc_trim(0);
    size_t before = memory_of_process(1);
    for (size_t i = 0; i < COUNT_OF(blocks); i++)
        blocks[i] = dirty_block(5 * MEBI);
    for (size_t i = 0; i < COUNT_OF(blocks); i++)
        free(blocks[i]);
    size_t freed = memory_of_process(1);
    int result = malloc_trim(0);
    size_t after = memory_of_process(1);
    expect(after < before + 2 * MEBI, "%zu bytes are resident after malloc_trim(0), %zu before the blocks", after, before);
    expect(result == 1 || freed < after + 4 * MEBI, "malloc_trim(0) returned 0 and gave %zu bytes back", freed - after);
    return 0;
}
