/* Counting "everything": the counts of locks and system calls, and their names. */
#include "1_base/counting/counting.h"

#include "1_base/counting/lock_table.h"

uint64_t hs_system_count[SYSTEM_COUNTERS];

const char *const hs_system_counter[SYSTEM_COUNTERS] = {
    "locks", "lock_waits", "futex", "mmap", "munmap", "mremap", "mprotect", "madvise", "mincore", "mbind",
};

void counting_report(struct text *out)
{
    text_string(out, ", \"system\": {");
    for (size_t index = 0; index < SYSTEM_COUNTERS; index++)
        text_field(out, index == 0 ? "" : ", ", hs_system_counter[index],
                   __atomic_load_n(&hs_system_count[index], __ATOMIC_RELAXED));
    text_string(out, "}");
}
