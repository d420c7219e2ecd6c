/* run_caches MIB: MIB of small blocks are written and freed, then MIB of large ones are written. What is live at once fits
 * where the caches of the first do not. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SMALL = 200, LARGE = 100000 };

/* A list of blocks, each written in full. */
static void **fill(size_t bytes, size_t most)
{
    void **newest = NULL;
    for (size_t live = 0; live < most; live += bytes) {
        void **block = malloc(bytes);
        if (block == NULL)
            exit(1);
        memset(block, 1, bytes);
        *block = newest;
        newest = block;
    }
    return newest;
}

int main(int count, char **argument)
{
    size_t most = strtoul(argument[count - 1], NULL, 10) << 20;
    for (void **block = fill(SMALL, most), **older; block != NULL; block = older) {
        older = *block;
        free(block);
    }
    puts(fill(LARGE, most) != NULL ? "served" : "nothing");
    return 0;
}
