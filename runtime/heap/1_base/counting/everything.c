/* Counting "everything": the counts of locks and system calls, and their names. */
#include "1_base/counting/counting.h"

uint64_t hs_system_count[SYSTEM_COUNTERS];

const char *const hs_system_counter[SYSTEM_COUNTERS] = {
    "locks", "lock_waits", "futex", "mmap", "munmap", "mremap", "mprotect", "madvise", "mincore", "mbind",
};
