/* Copies and fills that leave no block: at every place of blocks of all sizes, to their last byte, and of no bytes behind it. */
#include <malloc.h>
#include <stdlib.h>
#include <string.h>

enum { MOST = 300000, ALIGNMENTS = 4, HUGE = 40 << 20, PAGE = 4096 };

static char other[2 * MOST];

static void *sound(char *block, size_t bytes)
{
    size_t step = bytes / 7 + 1;
    for (size_t from = 0; from <= bytes; from += step) {
        memset(block + from, 1, bytes - from);
        memcpy(block + from, other, bytes - from);
        memmove(block, block + from, bytes - from);
    }
    memcpy(other, block, bytes);
    memset(block + bytes, 1, 0);
    memmove(block + bytes, other, 0);
    return block;
}

int main(void)
{
    for (size_t bytes = 1; bytes < MOST; bytes += 1 + bytes / 17) {
        char *block = sound(malloc(bytes), bytes), *clear = sound(calloc(1, bytes), bytes);
        sound(block, malloc_usable_size(block));
        block = sound(realloc(block, bytes + bytes / 3), bytes + bytes / 3);
        block = sound(realloc(block, bytes / 2 + 1), bytes / 2 + 1);
        free(clear);
        for (size_t alignment = 64; alignment <= (size_t)64 << 2 * ALIGNMENTS; alignment *= 4)
            free(sound(aligned_alloc(alignment, bytes), bytes));
        free(block);
    }
    char *huge = malloc(HUGE + 1);
    huge = realloc(huge, HUGE + PAGE / 2); /* as many pages, and then one less */
    memset(huge + HUGE, 1, PAGE / 2);
    huge = realloc(huge, HUGE - 1);
    memset(huge + HUGE - PAGE, 1, PAGE - 1);
    free(huge);
    return 0;
}
