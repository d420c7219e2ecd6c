/* count_committed and count_shared (runtime/heap/2_system/counters.c, counters.h): sums are exact; once an increase has returned the peak is
 * not below the sum it made; when all have returned it is exactly the greatest sum there was. */
#include "explore.h"

#include "3_records/heap.h"

static uint64_t greatest; /* of all sums so far; the explorer's own */

static void setup(void)
{
    share("counters", &hs_count, sizeof hs_count);
    share("greatest", &greatest, sizeof greatest);
}

static void note_sum(void)
{
    if (hs_count.committed > greatest)
        greatest = hs_count.committed;
    expect(hs_count.committed_peak <= greatest, "the peak is above every sum");
}

static void grow(uint64_t by)
{
    count_committed((int64_t)by);
    uint64_t peak = __atomic_load_n(&hs_count.committed_peak, __ATOMIC_RELAXED);
    expect(peak >= last_written(&hs_count.committed), "an increase has returned and the peak is below its sum");
}

static void grow_once(int thread)
{
    grow(UINT64_C(1) << thread);
    count_shared(&hs_count.releases, 1);
}

static void grow_and_shrink(int thread)
{
    grow(UINT64_C(1) << 2 * thread);
    count_committed(-(INT64_C(1) << 2 * thread));
    if (thread == 0)
        grow(2);
}

static uint64_t peak_is_exact(void)
{
    expect(hs_count.committed_peak == greatest, "the peak is not the greatest sum");
    return hs_count.committed << 16 | hs_count.committed_peak;
}

static uint64_t sums_are_exact(void)
{
    expect(hs_count.committed == (UINT64_C(1) << hs_count.releases) - 1, "an increment is lost");
    return peak_is_exact();
}

static const struct explored all[] = {
    { "peak_2x1", 2, 0, setup, grow_once, note_sum, sums_are_exact },
    { "peak_3x1", 3, 0, setup, grow_once, note_sum, sums_are_exact },
    { "peak_2x2", 2, 0, setup, grow_and_shrink, note_sum, peak_is_exact },
    { "peak_3x2", 3, 0, setup, grow_and_shrink, note_sum, peak_is_exact },
    { 0 },
};
const struct explored *const cases = all;
