/* Call sites: the number of the call stack of an allocation, in a recorder built with STACK_DEPTH frames or more than 0.
 *
 * A thread remembers, for each pair of a return address and a height of its stack, the paths that led there, and where
 * on the stack each return address of a path lies. A path holds if all these words are still its return addresses, the
 * innermost first: then no call of it can be another. So a known path costs no unwinding, no lock, no system call.
 *
 * In a process with Python frames the pair's return address is mixed with a hash of them (python.h). site_of alone then
 * finds no pair, and each call comes to site_slow. */
#pragma once

#include "1_base/arch/arch.h"
#include "stacks.h"
#include "writer.h"

/* A way to a pair: its return addresses, for each of them the word above `top` that holds it, and the number of the stack that
 * is told of it. */
struct path {
    struct path *next;
    const struct stack *stack;
    uint32_t number;
    uint32_t slots[];
};

struct pair {
    uint64_t place;      /* the return address of the call; 0: an empty place of the table */
    const uint64_t *top; /* the stack pointer after its return */
    struct path *paths;  /* the one met last first */
};

/* What one stream's thread remembers: an open-addressed table. */
struct sites {
    struct pair *pairs;
    uint64_t mask;
    uint64_t used;
    uint64_t epoch;  /* of the image when the table was made: a dlclose makes all paths void */
    char *room;      /* for new paths, up to `room_end`; ROOM_BYTES before that lies the last room's end */
    char *room_end;
    int64_t to_check; /* hits until the next one is unwound as well */
};

/* The call that is being recorded, seen from the exported function: a macro, for it must be used there. */
struct caller {
    uint64_t place;
    const uint64_t *top;
};
#if STACK_DEPTH > 0
#define CALLER ((struct caller){(uint64_t)__builtin_return_address(0), (const uint64_t *)ARCH_CALLER_TOP})
#else
#define CALLER ((struct caller){0, NULL})
#endif

/* The table of a stream. */
struct sites *sites_of_stream(uint32_t stream);

/* Forget all that an image's parent remembered. */
void sites_reset(void);

/* A pair or a path that is not known, or a hit whose turn it is to be checked. */
uint32_t site_slow(struct sites *sites, struct caller caller);

static inline struct pair *find_pair(const struct sites *sites, struct caller caller)
{
    uint64_t at = (caller.place * UINT64_C(0x9e3779b97f4a7c15) ^ (uint64_t)caller.top * UINT64_C(0xc2b2ae3d27d4eb4f)) >> 32;
    struct pair *pair = &sites->pairs[at & sites->mask];
    while (pair->place != 0 && (pair->place != caller.place || pair->top != caller.top))
        pair = &sites->pairs[++at & sites->mask];
    return pair;
}

static inline bool holds(const struct path *path, const uint64_t *top)
{
    const struct stack *stack = path->stack;
    for (uint32_t i = 1; i < stack->depth; i++)
        if (top[path->slots[i]] != stack->frames[i])
            return false;
    return true;
}

/* The number of the stack of this call; 0 if it is unknown. */
static inline uint32_t site_of(struct writer *w, struct caller caller)
{
    if (STACK_DEPTH == 0)
        return 0;
    struct sites *sites = w->sites;
    if (__builtin_expect(sites->epoch == image->epoch && sites->pairs != NULL && --sites->to_check > 0, 1)) {
        const struct path *path = find_pair(sites, caller)->paths;
        if (__builtin_expect(path != NULL && holds(path, caller.top), 1))
            return path->number;
    }
    return site_slow(sites, caller);
}

/* The same of a free, whose stack a recorder tells only if it is built so. */
static inline uint32_t free_site_of(struct writer *w, struct caller caller)
{
    return FREE_SITES ? site_of(w, caller) : 0;
}
