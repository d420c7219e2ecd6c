/* Touching: what a program does to memory it has asked for, under the policy of --touch. */
#pragma once

#include <string.h>

#include "replay.h"

enum { LINE_BYTES = 64 };

static inline void touch_ends(char *address, uint64_t bytes)
{
    uint64_t word = bytes < 8 ? bytes : 8;
    memset(address, 1, word);
    memset(address + bytes - word, 1, word);
}

/* A byte of each cache line of the new part [from, to) of a block. */
static inline void touch_lines(char *address, uint64_t from, uint64_t to)
{
    volatile char *block = address;
    for (uint64_t at = from; at < to; at += LINE_BYTES)
        block[at] = 1;
    block[to - 1] = 1;
}

/* The share of a block of `bytes`, at least TOUCHED_BYTES, that the program touches. */
static inline uint64_t touched_share(const uint32_t *touched, uint64_t bytes)
{
    int size = 0;
    while (size < TOUCHED_SIZES - 1 && bytes >= (uint64_t)TOUCHED_BYTES << 3 * (size + 1))
        size++;
    return touched[size];
}

static inline void touch_new(const struct replay *r, char *address, uint64_t from, uint64_t to)
{
    if (to - from >= TOUCHED_BYTES && from < to)
        to = from + ((to - from) * touched_share(r->touched, to) >> SHARE_BITS);
    if (from >= to)
        return;
    if (r->touch == TOUCH_ALL)
        touch_lines(address, from, to);
    else if (r->touch == TOUCH_FIRST)
        touch_ends(address, to);
}
