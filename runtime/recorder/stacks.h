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

/* A stack that has been written; it never changes again. */
struct stack {
    const struct stack *next; /* in its bucket */
    uint64_t hash;
    uint32_t number; /* 1, 2, ... */
    uint32_t depth;
    uint64_t frames[]; /* return addresses, innermost first; of an interrupted instruction its address and 1 */
};

/* The one stack of these frames, numbered and written if it is new; NULL if there is no room for it. */
const struct stack *stack_of(const uint64_t *frames, uint32_t depth);

/* Forget the stacks of the parent image. */
void stacks_reset(void);

/* Memory from the kernel, all zeros; NULL if there is none. */
void *map_memory(uint64_t bytes);
