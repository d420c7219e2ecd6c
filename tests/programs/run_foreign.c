/* Hands blocks of the C library's own malloc to whatever free, realloc and malloc_usable_size there are. */
#include "run_foreign_block.h"

#include <errno.h>
#include <malloc.h>
#include <stdio.h>
#include <string.h>

enum { BYTES = 200 };

static char *foreign_block(void)
{
    char *block = foreign_malloc(BYTES);
    memset(block, 'x', BYTES);
    return block;
}

static void try_free(void)
{
    char *volatile block = foreign_block();
    errno = 123;
    free(block);
    if (errno != 123)
        puts("errno changed");
    puts(foreign_malloc(BYTES) == block ? "reused" : "leaked");
}

static void try_realloc(void)
{
    char *block = realloc(foreign_block(), 100 * BYTES);
    if (block == NULL)
        printf("%s\n", errno == ENOMEM ? "ENOMEM" : "another errno");
    else
        printf("%.*s\n", 5, block + BYTES - 5);
    free(block);
    errno = 0;
    if (realloc(foreign_block(), 0) != NULL || errno != 0)
        puts("not freed");
}

/* `count` from one place, then one from each of two others. */
static void from_three_places(int count)
{
    void *volatile block = foreign_block();
    for (int times = 0; times < count; times++)
        free(block);
    free(block);
    if (realloc(block, 10) != NULL)
        puts("realloc succeeded");
}

/* A pointer into a run, one into a block's middle: nobody else's, and no block of ours. */
static void try_inside(void)
{
    char *volatile run = malloc(100000);
    free(run + 4096);
    free(run + 16);
    if (realloc(run + 8192, 10) != NULL || malloc_usable_size(run + 64) != 0)
        puts("taken for a block");
    memset(run, 1, 100000);
    free(run);
}

int main(int count, char **arguments)
{
    const char *what = count > 1 ? arguments[1] : "";
    if (strcmp(what, "free") == 0)
        try_free();
    else if (strcmp(what, "realloc") == 0)
        try_realloc();
    else if (strcmp(what, "usable") == 0)
        printf("%zu\n", malloc_usable_size(foreign_block()) / BYTES);
    else if (strcmp(what, "inside") == 0)
        try_inside();
    else
        from_three_places(atoi(what));
    return 0;
}
