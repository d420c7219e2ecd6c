/* The call stacks of one process image: unwound, numbered, written to its spool once each. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#ifndef STACK_DEPTH
#define STACK_DEPTH 0 /* the most frames of a stack; 0: no stacks */
#endif
#ifndef FREE_SITES
#define FREE_SITES 0 /* 1: frees have stacks too */
#endif

/* A stack. Its frames never change; where code was unmapped since it was written, the same addresses may be other functions, and it
 * is written again under another number. */
struct stack {
    const struct stack *next; /* in its bucket */
    uint64_t hash;
    uint64_t epoch; /* of the image when it was written */
    uint32_t number; /* 1, 2, ...: it has been written; 0: it has not */
    uint32_t depth;
    uint64_t frames[]; /* innermost first: return addresses; of an interrupted instruction its address and 1; SPOOL_PLACES + n */
};

/* The one stack of these frames, numbered and written if it is new, or is anew; NULL if there is no room for it. */
const struct stack *stack_of(const uint64_t *frames, uint32_t depth);

/* The same, which need not be written. */
const struct stack *stack_kept(const uint64_t *frames, uint32_t depth);

/* The lock of the image's stacks and of all that they name. */
struct image *stacks_lock(void);
void stacks_unlock(struct image *held);

/* Forget the stacks of the parent image. */
void stacks_reset(void);

/* Memory from the kernel, all zeros; NULL if there is none. */
void *map_memory(uint64_t bytes);
