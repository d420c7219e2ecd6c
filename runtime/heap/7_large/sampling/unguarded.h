/* Samples without guards: no block is guarded. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct call_stack;

static inline size_t guarded_space(void)
{
    return 0;
}

static inline void guarded_init(void)
{
}

static inline void *guarded_alloc(size_t bytes, size_t alignment, const struct call_stack *stack)
{
    (void)bytes, (void)alignment, (void)stack;
    return NULL;
}

static inline bool guarded_free(void *block)
{
    (void)block;
    return false;
}

static inline bool guarded_holds(const void *address)
{
    (void)address;
    return false;
}

static inline size_t guarded_bytes(const void *block)
{
    (void)block;
    return 0;
}

static inline void guarded_census(size_t *bytes, size_t *blocks)
{
    (void)bytes, (void)blocks;
}

static inline int64_t guarded_number(const void *block)
{
    (void)block;
    return -1;
}

static inline bool guarded_set_sample(const void *block, bool is)
{
    (void)block, (void)is;
    return false;
}

static inline uint8_t guarded_mark(const void *block)
{
    (void)block;
    return 0;
}

static inline void guarded_set_mark(const void *block, uint8_t mark)
{
    (void)block, (void)mark;
}

static inline void guarded_enter(void)
{
}

static inline void guarded_leave(void)
{
}

static inline size_t guarded_vacate(void)
{
    return 0;
}

static inline void guarded_reset(void)
{
}

#define GUARDED_VIEW /* nothing of guarded blocks */
