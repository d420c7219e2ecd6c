/* Samples are drawn: each thread counts down the bytes that it asks for (docs/machine-rooms.md, 'sampling'). */
#pragma once

#include "1_base/arch/arch.h"
#include "1_base/cold.h"
#include "7_large/run_span.h"
#include "9_api/sampling/samples.h"

#include SAMPLING_GUARDS

/* Bytes of requests before the thread's next sample; a request of more is due. A new thread's first request is: it draws. */
extern __thread uint64_t hs_until_sample;
extern uint64_t hs_huge_samples; /* huge blocks that are samples */
extern uint64_t hs_sample_mean; /* 0: no request is one */
extern uint32_t hs_sample_thread; /* whose requests alone are, by gettid(2); 0: those of all */

COLD bool sampling_is_mine(uint32_t thread); /* is it the calling thread? */

/* Whose requests are samples is stored before the mean, and read behind it: with a new mean nobody reads an old thread. */
static inline void sampling_set_mean(uint64_t mean)
{
    __atomic_store_n(&hs_sample_mean, mean, __ATOMIC_RELEASE);
}

static inline uint64_t sampling_mean(void)
{
    return __atomic_load_n(&hs_sample_mean, __ATOMIC_ACQUIRE);
}

/* May the calling thread's requests be samples? */
static inline bool sampling_here(void)
{
    uint32_t thread = __atomic_load_n(&hs_sample_thread, __ATOMIC_RELAXED);
    return thread == 0 || sampling_is_mine(thread);
}

/* Are the calling thread's requests counted now? */
static inline bool sampling_counts(void)
{
    return !SAMPLE_WATCHED || (sampling_mean() > 0 && sampling_here());
}

/* A request is counted. When it is due, the countdown means nothing until it is set anew. */
static inline bool sampling_due(size_t bytes)
{
    return arch_take_64(&hs_until_sample, bytes);
}

/* A request that is due, counted: a block of its own pages, or as malloc. caller: of malloc, where sites tell classes. */
COLD void *hs_malloc_sampled(size_t bytes, const void *caller);

COLD void *sampling_large(size_t bytes, size_t alignment, bool *zero); /* as hs_large_alloc, for a request not counted yet */
/* A small aligned request, not counted yet. NULL: it is no sample, and counted once malloc(size) has served it. */
COLD void *draws_aligned(size_t bytes, size_t alignment, size_t size);
COLD void sampling_resized(void *block, size_t bytes); /* a large block, by a request not counted yet */
COLD void sampling_ends(void *block);
COLD void sampling_moved(void *block, void *resized, uint64_t number);
COLD void sampling_reset(void);         /* checked build */

/* Is a large block, or none of ours, a sample? Of a block that is no run the answer is yes too where some such block is one. */
static inline bool sampling_may_be(const void *block)
{
    uint32_t page = run_first_page(block);
    return page != UINT32_MAX ? run_is_sample(page)
                              : __atomic_load_n(&hs_huge_samples, __ATOMIC_RELAXED) > 0 || guarded_holds(block);
}

/* A large block, or none of ours, is about to be freed. */
static inline void sampling_frees(void *block)
{
    if (sampling_may_be(block))
        sampling_ends(block);
}

/* A large block is about to be resized: the number of its sample. 0: it is none. */
static inline uint64_t sampling_number(const void *block)
{
    return sampling_may_be(block) ? hs_sample_number(block) : 0;
}

/* A large block was resized in place, or its pages have moved: it is that sample no more. */
static inline void sampling_left(void *block, void *resized, uint64_t number)
{
    if (resized == block)
        sampling_frees(block);
    else if (number > 0)
        sampling_moved(block, resized, number);
}

/* What the program may write of the sample at an address, of these bytes; of no sample: all. */
COLD size_t sampling_room(const void *block, size_t bytes);

/* What the program may write of a block of `bytes` that is large, or none of ours. */
static inline size_t sampling_usable(const void *block, size_t bytes)
{
    return bytes > 0 && sampling_may_be(block) ? sampling_room(block, bytes) : bytes;
}
