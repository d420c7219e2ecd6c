/* The locks of the process, and what becomes of them over fork. Who takes both of the first two takes the pool lock first. */
#pragma once

#include <stdbool.h>

#include "plan.h"

void hs_lock_pool(void); /* slabs without a class, superslabs, abandoned heaps */
void hs_unlock_pool(void);
bool hs_holds_pool(void);
void hs_lock_large(void); /* runs, huge blocks */
void hs_unlock_large(void);
/* Numbered locks: of shards, of transfer caches and then of stores, of which a thread takes one of each at most, in this order,
 * and before the pool lock; then of heaps, of processors without restartable sequences or of their remote lists, under which
 * nobody takes another. */
#ifdef SHARDS
enum { SHARD_LOCKS = 2 * SHARDS };
#else
enum { SHARD_LOCKS = 0 };
#endif
#ifdef PROCESSOR_BATCH
enum { HEAP_LOCKS = 64 };
#elif defined REMOTE_LOCKS
enum { HEAP_LOCKS = REMOTE_LOCKS };
#else
enum { HEAP_LOCKS = 0 };
#endif
#if defined SHARDS || defined PROCESSOR_BATCH || defined REMOTE_LOCKS
#define HAS_NUMBERED_LOCKS
enum { NUMBERED_LOCKS = SHARD_LOCKS + HEAP_LOCKS };
void hs_lock_number(unsigned number);
void hs_unlock_number(unsigned number);
bool hs_holds_number(unsigned number);
#endif

/* From now on a thread that forks holds all locks until fork is over. It may allocate, as pthread_atfork(3) does. */
void hs_locks_over_fork(void);
/* The same if there are other threads, or there will be one in a moment: for who may be called while one is made. */
void hs_expect_thread(void);
