/* The locks of the process, and what becomes of them over fork. Who takes both of the first two takes the pool lock first. */
#pragma once

#include <stdbool.h>

#include "1_base/counting/counting.h" /* who takes a lock says what for */
#include "plan.h"

void hs_lock_pool(void); /* slabs without a class, superslabs, abandoned heaps */
void hs_unlock_pool(void);
bool hs_holds_pool(void);
void hs_lock_large(void); /* runs, huge blocks */
void hs_unlock_large(void);

/* From now on a thread that forks holds all locks until fork is over. It may allocate, as pthread_atfork(3) does. */
void hs_locks_over_fork(void);
/* The same if there are other threads, or there will be one in a moment: for who may be called while one is made. */
void hs_expect_thread(void);
