/* Sampling "countdown": another mean is known to each thread at its next request that is due. */
#include "9_api/sampling/countdown.h"

void hs_sampling_set(uint64_t mean)
{
    sampling_set_mean(mean);
}
