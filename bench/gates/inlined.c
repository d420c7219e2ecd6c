/* inlined PAIRS LIVE KINDS: LIVE live objects of KINDS types with constant sizes; each new
 * object replaces a random object of its type. Uses heapsmith.h of the measured design, or of a
 * design whose header calls malloc and free. */
#include "micro.h"

#include <heapsmith.h>

enum { SEED = 2463534242 };

static inline __attribute__((always_inline)) uint64_t renew(void **place, size_t bytes, uint32_t value)
{
    uint64_t was = *place != NULL ? look(*place) : 0;
    if (!is_dry)
        hs_free_sized(*place, bytes);
    *place = hidden(is_dry ? scratch : hs_malloc(bytes));
    touch(*place, bytes, value);
    __asm__ volatile("" : : "i"(bytes)); /* keeps the types apart */
    return was;
}

int main(int count, char **value)
{
    read_arguments(count, value, 3, "usage: inlined PAIRS LIVE KINDS");
    long pairs = number(0, 1, 1L << 40), live = number(1, 1, 1 << 24), kinds = number(2, 1, 8);
    void **slot = pointers((size_t)live);
    uint32_t random = SEED;
    uint64_t checksum = 0;
    start_clock();
    for (long pair = 0; pair < pairs; pair++) {
        uint32_t place = below(&random, (uint32_t)live);
        switch (place % (uint32_t)kinds) {
        case 0: checksum += renew(&slot[place], 32, (uint32_t)pair); break;
        case 1: checksum += renew(&slot[place], 16, (uint32_t)pair); break;
        case 2: checksum += renew(&slot[place], 48, (uint32_t)pair); break;
        case 3: checksum += renew(&slot[place], 64, (uint32_t)pair); break;
        case 4: checksum += renew(&slot[place], 96, (uint32_t)pair); break;
        case 5: checksum += renew(&slot[place], 128, (uint32_t)pair); break;
        case 6: checksum += renew(&slot[place], 256, (uint32_t)pair); break;
        default: checksum += renew(&slot[place], 512, (uint32_t)pair); break;
        }
    }
    return report(checksum, (uint64_t)pairs);
}
