/* Shared by the programs of misuse: each prints the address that the last words must name, then does one wrong thing. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SMALL = 100, RUN = 100000, HUGE = 40 << 20 };

/* The compiler sees neither what is allocated nor what is done to it. */
static void *hidden(const void *block)
{
    __asm__ volatile("" : "+r"(block) : : "memory");
    return (void *)block;
}

static inline void *get(size_t bytes)
{
    return hidden(malloc(bytes));
}

static inline void name(const void *block)
{
    dprintf(1, "%p", block);
}
