/* Samples switched on and off (switch.h). */
#define _GNU_SOURCE
#include "9_api/sampling/switch.h"

#include "plan.h"
#include SAMPLING_ROW

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

static uint64_t mean_before = SAMPLE_MEAN; /* of samples that are switched on */

bool sampling_switches(uint64_t mean)
{
    if (mean > 0 && mean <= SAMPLE_MOST_BYTES)
        mean_before = mean;
    return mean <= SAMPLE_MOST_BYTES;
}

/* Two signals at one time, in two threads, are two switches: the second one finds the mean that the first one kept. A thread that
 * reads the new mean sees the number of the sampled thread too, which was stored before the old mean, since an exchange carries on
 * the order of the value that it replaces. */
void sampling_switch(void)
{
    uint64_t mean, wanted;
    do {
        mean = sampling_mean();
        if (mean > 0)
            __atomic_store_n(&mean_before, mean, __ATOMIC_RELAXED);
        wanted = mean > 0 ? 0 : __atomic_load_n(&mean_before, __ATOMIC_RELAXED);
    } while (!__atomic_compare_exchange_n(&hs_sample_mean, &mean, wanted, false, __ATOMIC_RELEASE, __ATOMIC_RELAXED));
    sampling_leads();
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
