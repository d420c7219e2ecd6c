/* Blocks whose contents are looked at, over all tiers; what the run_ programs share. */
#ifndef RUN_BLOCKS_H
#define RUN_BLOCKS_H

#define _GNU_SOURCE
#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* What the library tells; weak, so that the programs run without it too. */
extern const char *heapsmith_design(void) __attribute__((weak));
extern size_t heapsmith_counter_count(void) __attribute__((weak));
extern void heapsmith_counters(uint64_t *counters) __attribute__((weak));
extern int64_t heapsmith_locate(const void *block) __attribute__((weak));
extern void heapsmith_check(void) __attribute__((weak));

/* Ends the process with one line and status 1 unless it holds; async-signal-safe. */
static inline void demand(bool holds, const char *what)
{
    if (holds)
        return;
    if (write(STDERR_FILENO, what, strlen(what)) < 0 || write(STDERR_FILENO, "\n", 1) < 0)
        _exit(2);
    _exit(1);
}

static inline uint32_t next_random(uint32_t *state) /* xorshift: Marsaglia, 2003 */
{
    *state ^= *state << 13;
    *state ^= *state >> 17;
    *state ^= *state << 5;
    return *state;
}

/* Sizes of every tier: mostly small, some runs of pages, few huge blocks. */
static inline size_t random_bytes(uint32_t *state)
{
    uint32_t draw = next_random(state);
    uint32_t more = draw >> 8;
    if (draw % 64 < 48)
        return more % 700;
    if (draw % 64 < 58)
        return more % 30000;
    if (draw % 64 < 63)
        return 4096 + more % 300000;
    return ((size_t)33 << 20) + more % 100000;
}

struct block {
    unsigned char *start;
    size_t bytes;
    unsigned char seed;
};

enum { EDGE = 96 }; /* bytes written at each end of a block */

static inline unsigned char content(const struct block *block, size_t at)
{
    return (unsigned char)(block->seed + 31 * at);
}

/* Writes both ends of a block that was just allocated, or does nothing for NULL. */
static inline void fill(const struct block *block)
{
    if (block->start == NULL)
        return;
    size_t head = block->bytes < EDGE ? block->bytes : EDGE;
    for (size_t at = 0; at < head; at++)
        block->start[at] = content(block, at);
    for (size_t at = block->bytes - head; at < block->bytes; at++)
        block->start[at] = content(block, at);
}

/* Do the first `bytes` of the block (and its end, if that is all of it) still hold what fill wrote? */
static inline bool kept(const struct block *block, size_t bytes)
{
    if (block->start == NULL)
        return true;
    size_t head = bytes < EDGE ? bytes : EDGE;
    for (size_t at = 0; at < head && at < block->bytes; at++)
        if (block->start[at] != content(block, at))
            return false;
    for (size_t at = block->bytes - (block->bytes < EDGE ? block->bytes : EDGE); bytes >= block->bytes && at < block->bytes; at++)
        if (block->start[at] != content(block, at))
            return false;
    return true;
}

static inline void release(struct block *block)
{
    demand(kept(block, block->bytes), "a block lost its contents");
    free(block->start);
    block->start = NULL;
}

#endif
