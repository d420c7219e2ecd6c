/* Frees pointers that are no blocks: with each byte before them, behind a page that may not be read, and behind others.
 * Then allocates of all sizes: none of it may be one of these, or within them. "ours": blocks of our own that begin pages. */
#define _GNU_SOURCE
#include <malloc.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum { PAGE = 4096, PAGES = 4, BLOCKS = 4096 };

static char *pages;

static int is_strange(const char *block)
{
    return block >= pages && block < pages + PAGES * PAGE;
}

/* A pointer may be freed twice: nothing took it the first time. */
static void free_strangers(void)
{
    free(pages);
    for (int byte = 0; byte < 256; byte++) {
        memset(pages, byte, PAGES * PAGE);
        free(pages + PAGE + 16);
        free(pages + 2 * PAGE);
    }
    for (size_t at = 0; at < PAGES * PAGE; at++)
        if ((unsigned char)pages[at] != 255)
            puts("written to");
}

static void *blocks[BLOCKS];

static void free_ours(void)
{
    size_t begin = 0;
    for (int i = 0; i < BLOCKS; i++)
        memset(blocks[i] = malloc(15), i, 15);
    for (int i = 0; i < BLOCKS; i++) {
        void *volatile old = blocks[i];
        if ((uintptr_t)old % PAGE != 0)
            continue;
        begin++;
        free(old);
        if ((blocks[i] = malloc(15)) != old)
            puts("not taken back");
    }
    if (begin == 0)
        puts("none begins a page");
    for (int i = 0; i < BLOCKS; i++)
        free(blocks[i]);
}

int main(int count, char **arguments)
{
    char *mapped = mmap(NULL, (1 + PAGES) * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    mprotect(mapped, PAGE, PROT_NONE);
    pages = mapped + PAGE;
    free(malloc(10));
    if (count > 1)
        free_ours();
    else
        free_strangers();
    for (int i = 0; i < BLOCKS; i++)
        if (is_strange(malloc(1 + i)))
            puts("handed out");
    return 0;
}
