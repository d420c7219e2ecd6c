/* Memory that runs out: for small blocks, runs of pages and huge blocks in turn, allocate until NULL and ENOMEM, free every
 * second block, allocate again, free the rest. argv[1]: the bytes that the program has in all. Writes, per size, KiB got at
 * first and after freeing half (of that half). */
#include "run_blocks.h"

#include <stdio.h>

enum { MOST = 400000 };

static struct block block[MOST];

static bool allocate(int index, size_t bytes)
{
    errno = 0;
    block[index] = (struct block){ index % 3 == 0 ? calloc(1, bytes) : malloc(bytes), bytes, (unsigned char)index };
    demand(block[index].start != NULL || errno == ENOMEM, "a failure that is not ENOMEM");
    fill(&block[index]);
    return block[index].start != NULL;
}

/* How many blocks there are to be had. */
static int exhaust(size_t bytes)
{
    int count = 0;
    while (count < MOST && allocate(count, bytes))
        count++;
    demand(count < MOST, "memory without end");
    return count;
}

/* Of the holes below `count`, how many can be filled again. */
static int refill(int count, size_t bytes)
{
    int got = 0;
    for (int index = 0; index < count; index += 2)
        got += allocate(index, bytes);
    return got;
}

static void release_all(int count)
{
    for (int index = 0; index < count; index++)
        release(&block[index]);
}

/* A failed realloc leaves the block. */
static void grow_in_vain(void)
{
    demand(realloc(block[0].start, (size_t)1 << 45) == NULL && errno == ENOMEM, "a realloc of 32 TiB");
    demand(kept(&block[0], block[0].bytes), "a failed realloc changed the block");
}

static void use(size_t bytes, size_t limit)
{
    int count = exhaust(bytes);
    printf("%zu: %zu ", bytes, count * bytes >> 10);
    demand(count > 1 || 4 * bytes > limit, "no memory to start with");
    if (count > 0)
        grow_in_vain();
    for (int index = 0; index < count; index += 2)
        release(&block[index]);
    int holes = (count + 1) / 2, again = refill(count, bytes);
    printf("%zu of %zu\n", again * bytes >> 10, holes * bytes >> 10);
    demand(10 * again >= 9 * holes, "freed memory cannot be had again");
    release_all(count);
}

int main(int count, char **arguments)
{
    static const size_t sizes[] = { 3000, 100000, 1 << 20, 40 << 20, 30000, 3000, 64 };
    demand(count == 2, "usage: LIMIT");
    size_t limit = strtoul(arguments[1], NULL, 10);
    for (size_t index = 0; index < sizeof sizes / sizeof *sizes; index++)
        if (sizes[index] * MOST > limit || sizes[index] > 100)
            use(sizes[index], limit);
    for (size_t bytes = 1; bytes < 1 << 21; bytes = bytes * 3 + 1) {
        block[0] = (struct block){ malloc(bytes), bytes, 1 };
        demand(block[0].start != NULL, "nothing to be had afterwards");
        fill(&block[0]);
        release(&block[0]);
    }
    return puts("fine") < 0;
}
