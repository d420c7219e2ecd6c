/* Samples, where nobody asks for more than their counters, which are counted where they are taken. */
#include "9_api/sampling/samples.h"

void hs_sample_taken(void *block, size_t bytes, uint64_t mean)
{
    (void)block, (void)bytes, (void)mean;
}

void hs_sample_freed(void *block)
{
    (void)block;
}
