/* A full address space: blocks that are freed and trimmed there are not committed any more (mallinfo2's arena). */
#include "behaviour.h"

enum { BYTES = 10240, SOME = 1000, LEFT = 5 << 20 };

static void *blocks[SOME * 50];

static size_t take(size_t most)
{
    size_t count = 0;
    while (count < most && (blocks[count] = malloc(BYTES)) != NULL)
        count++;
    return count;
}

static void free_first(size_t count)
{
    while (count-- > 0)
        free(blocks[count]);
}

int main(void)
{
    within_address_space(256 * MEBI);
    size_t count = take(COUNT_OF(blocks));
    expect(count < COUNT_OF(blocks), "%zu blocks of 10 KiB were had in 256 MiB", count);
    free_first(count);
    free(malloc(100 * MEBI)); /* the heap makes room for it */
    free_first(take(SOME));
    malloc_trim(0);
    size_t arena = mallinfo2().arena;
    expect(arena < LEFT, "%zu bytes are committed after all was freed and trimmed", arena);
    return 0;
}
