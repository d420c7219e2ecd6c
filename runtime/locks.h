/* The two locks of the process, and what becomes of them over fork. A thread that takes both takes the pool lock first. */
#pragma once

#include <stdbool.h>

void hs_lock_pool(void); /* slabs without a class, superslabs, abandoned heaps */
void hs_unlock_pool(void);
bool hs_holds_pool(void);
void hs_lock_large(void); /* runs, huge blocks */
void hs_unlock_large(void);

/* From now on a thread that forks holds both locks until fork is over. It may allocate, as pthread_atfork(3) does. */
void hs_locks_over_fork(void);
