/* malloc_trim(0) leaves hardly any freed small block in a cache (mallinfo2's smblks), whatever cached the 1,000 just freed. */
#include "behaviour.h"

/* A quarantine may keep some. */
enum { STAY = 300 };

int main(void)
{
    static void *blocks[1000];
    for (size_t i = 0; i < COUNT_OF(blocks); i++)
        blocks[i] = dirty_block(60);
    for (size_t i = 0; i < COUNT_OF(blocks); i++)
        free(blocks[i]);
    malloc_trim(0);
    size_t cached = mallinfo2().smblks;
    expect(cached < STAY, "%zu freed blocks are cached after malloc_trim(0)", cached);
    return 0;
}
