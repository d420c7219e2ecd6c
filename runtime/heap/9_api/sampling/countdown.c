/* Sampling "countdown": another mean. */
#include "9_api/sampling/countdown.h"

void hs_sampling_set(uint64_t mean)
{
    sampling_set_mean(mean);
    sampling_leads();
}
