/* Samples: what the heap tells of those that it takes, and whether it takes any. No lock of the heap is held at either call. */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* A block of `bytes` was made for a request that is a sample, by the calling thread. The program does not have it yet. Both keep
 * errno, and call no malloc. */
void hs_sample_taken(void *block, size_t bytes, uint64_t mean);
/* It is about to be freed, or realloc resizes or moves it: then it is a sample no more. */
void hs_sample_freed(void *block);

uint64_t hs_sampling_mean(void); /* bytes of requests from one sample to the next, on average; 0: off */
/* Async-signal-safe. A thread learns of it at its next sample, or where it took none after SAMPLE_LOOK_BYTES of requests. */
void hs_sampling_set(uint64_t mean);
