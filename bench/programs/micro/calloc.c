/* calloc PAIRS LIVE LEAST MOST uniform|skewed: zeroed blocks of random size; each new block
 * replaces a random block of LIVE. The checksum holds the words that must be zero. */
#include "micro.h"

static uint32_t sizes[SIZES];

static uint64_t look_all(const char *block, size_t bytes)
{
    uint64_t sum = (unsigned char)block[bytes - 1];
    for (size_t at = 0; at < bytes - 4; at += PAGE)
        sum += look(block + at);
    return sum;
}

int main(int count, char **value)
{
    read_arguments(count, value, 5, "usage: calloc PAIRS LIVE LEAST MOST uniform|skewed");
    long pairs = number(0, 1, 1L << 40), live = number(1, 1, 1 << 24);
    fill_sizes(sizes, 2, 4);
    void **slot = pointers((size_t)live);
    uint32_t random = SEED;
    uint64_t checksum = 0;
    start_clock();
    for (long pair = 0; pair < pairs; pair++) {
        void **place = &slot[below(&random, (uint32_t)live)];
        size_t bytes = sizes[below(&random, SIZES)];
        if (*place != NULL)
            checksum += look(*place);
        release(*place);
        *place = hidden(is_dry ? scratch : calloc(1, bytes));
        checksum += look_all(*place, bytes) << 32;
        touch(*place, bytes, (uint32_t)pair);
    }
    return report(checksum, (uint64_t)pairs);
}
