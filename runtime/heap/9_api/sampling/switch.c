/* Samples switched on and off (switch.h). */
#define _GNU_SOURCE
#include "9_api/sampling/switch.h"

#include "9_api/sampling/draws.h"

#include <errno.h>
#include <sys/syscall.h>
#include <unistd.h>

bool sampling_told(uint64_t mean)
{
    const bool can = mean <= SAMPLE_MOST_BYTES;
    if (can)
        hs_sampling_set(mean);
    return can;
}

/* In between nobody samples, or a thread might take the old mean for the new thread's. */
int hs_sample(size_t mean, int thread)
{
    if (mean > SAMPLE_MOST_BYTES || thread < 0) {
        errno = EINVAL;
        return -1;
    }
    if (thread > 0 && syscall(SYS_tgkill, getpid(), thread, 0) != 0)
        return -1;
    hs_sampling_set(0);
    __atomic_store_n(&hs_sample_thread, (uint32_t)thread, __ATOMIC_RELAXED);
    hs_sampling_set(mean);
    return 0;
}
