/* Samples of blocks (docs/live.md): how many are taken; the live ones, and sums by call stack since the start, in tables of a
 * fixed size.
 *
 * Any thread calls, and holds no lock of the heap. The tables are mapped with the first sample and never grow: what has
 * no room is counted. `heapsmith profile` reads them from outside: `changes` is odd while they change. */
#pragma once

#include "1_base/call_stack.h"
#include "1_base/cold.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    SAMPLE_FRAMES = STACK_FRAMES,
    MOST_SAMPLES = 1 << 14, /* live at one time */
    SAMPLE_PLACES = 2 * MOST_SAMPLES, /* a power of two */
    MOST_SITES = 1 << 13, /* call stacks; number 0 is for those that have no room */
    SITE_PLACES = 2 * MOST_SITES,
    FEWEST_PLACES = 1 << 10, /* of sites */
};

/* A live block that was sampled. `block` of a free place is 0. */
struct sample {
    uintptr_t block;
    uint64_t bytes;
    uint64_t mean; /* bytes from one sample to the next, on average, when it was taken */
    uint64_t time_ns; /* CLOCK_MONOTONIC */
    uint64_t number; /* 1 is the first sample of the process */
    uint32_t site;
    uint32_t thread; /* gettid(2) */
};

/* Estimates of all blocks that samples stand for: their number, bytes, and the variances of both. */
struct estimate {
    double blocks, bytes, blocks_variance, bytes_variance;
};

/* A call stack, and its samples since the start. */
struct sample_site {
    struct estimate allocated;
    double live_blocks, live_bytes;
    uint64_t samples, sampled_bytes;
    uint64_t depth;
    uintptr_t frame[SAMPLE_FRAMES]; /* return addresses, the innermost first */
};

struct sample_tables {
    struct sample sample[SAMPLE_PLACES];
    struct sample_site site[MOST_SITES];
    uint16_t site_at[SITE_PLACES]; /* numbers by the stack's hash; 0: free. The first ones alone while there are few sites */
};

struct samples {
    uint64_t changes;
    struct sample_tables *tables; /* NULL before the first sample */
    uint64_t sites; /* in use, number 0 too */
    uint64_t taken, live;
    uint64_t dropped; /* samples that are in no table of live ones: too many were live, or the system refused the tables */
    uint64_t unsited; /* samples whose call stack had no room */
    uint64_t mean; /* of the last sample */
    double live_bytes; /* of all sites */
};

extern struct samples hs_samples;

/* A block of `bytes` was made for a request that is a sample, by the calling thread with this stack. The program does not have it
 * yet. Both keep errno, and call no malloc. */
COLD void hs_sample_taken(void *block, size_t bytes, uint64_t mean, const struct call_stack *stack);
/* A sample is about to be freed, or realloc has resized it in place: then it is a sample no more. */
COLD void hs_sample_freed(void *block);
/* The same of the sample with this number, whose pages realloc has moved: at its address may be another one by now. */
COLD void hs_sample_moved(void *block, uint64_t number);
/* The number of the live sample at an address; one that no sample has, if it has none. */
COLD uint64_t hs_sample_number(const void *block);

/* The bytes that the program asked for of the block's live sample; 0: it is none. */
COLD uint64_t hs_sample_bytes(const void *block);

uint64_t hs_sampling_mean(void); /* bytes of requests from one sample to the next, on average; 0: off */
/* Async-signal-safe. A thread learns of it at its next sample, or where it took none after SAMPLE_LOOK_BYTES of requests. */
void hs_sampling_set(uint64_t mean);
/* The number of a call stack in the table of sites, for who records; 0: it has no room. */
COLD uint32_t hs_stack_number(const struct call_stack *stack);
/* All samples are forgotten. */
COLD void hs_samples_forget(void);

/* A copy of now, in a mapping of its own, which begins with the samples and goes on with their tables. NULL: the system refused
 * it, or this thread, interrupted by a signal, is changing them (errno EAGAIN). */
struct samples_copy {
    struct samples samples;
    struct sample_tables tables;
};
COLD struct samples_copy *hs_samples_copy(void);
COLD void hs_samples_drop(struct samples_copy *copy);
