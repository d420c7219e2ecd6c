/* aligned PAIRS LIVE LEAST MOST uniform|skewed: posix_memalign and aligned_alloc in turn,
 * aligned to 32 to 4,096. Each new block replaces a random block of LIVE. The checksum holds
 * each address modulo the requested alignment. */
#define _GNU_SOURCE
#include "micro.h"

static const size_t alignments[] = {32, 64, 64, 64, 128, 256, 64, PAGE};
static uint32_t sizes[SIZES];

static void *allocate_aligned(size_t alignment, size_t bytes, int by_posix)
{
    void *block = scratch;
    if (is_dry)
        return hidden(block);
    if (!by_posix)
        return hidden(aligned_alloc(alignment, (bytes + alignment - 1) / alignment * alignment));
    return posix_memalign(&block, alignment, bytes) == 0 ? hidden(block) : NULL;
}

int main(int count, char **value)
{
    read_arguments(count, value, 5, "usage: aligned PAIRS LIVE LEAST MOST uniform|skewed");
    long pairs = number(0, 1, 1L << 40), live = number(1, 1, 1 << 24);
    fill_sizes(sizes, 2, 4);
    void **slot = pointers((size_t)live);
    uint32_t random = SEED;
    uint64_t checksum = 0;
    start_clock();
    for (long pair = 0; pair < pairs; pair++) {
        void **place = &slot[below(&random, (uint32_t)live)];
        size_t bytes = sizes[below(&random, SIZES)], alignment = alignments[below(&random, 8)];
        if (*place != NULL)
            checksum += look(*place);
        release(*place);
        *place = allocate_aligned(alignment, bytes, (int)(pair & 1));
        checksum += (uint64_t)((uintptr_t)*place % alignment) << 32;
        touch(*place, bytes, (uint32_t)pair);
    }
    return report(checksum, (uint64_t)pairs);
}
