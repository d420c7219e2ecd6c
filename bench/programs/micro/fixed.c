/* fixed PAIRS BYTES LIVE: blocks of one size; each new block replaces the oldest of LIVE. With
 * LIVE 1, malloc and free come in pairs. */
#include "micro.h"

int main(int count, char **value)
{
    read_arguments(count, value, 3, "usage: fixed PAIRS BYTES LIVE");
    long pairs = number(0, 1, 1L << 40), live = number(2, 1, 1 << 24), place = 0;
    size_t bytes = (size_t)number(1, 8, SCRATCH_BYTES);
    void **slot = pointers((size_t)live);
    uint64_t checksum = 0;
    start_clock();
    for (long pair = 0; pair < pairs; pair++) {
        if (slot[place] != NULL)
            checksum += look(slot[place]);
        release(slot[place]);
        slot[place] = allocate(bytes);
        touch(slot[place], bytes, (uint32_t)pair);
        if (++place == live)
            place = 0;
    }
    return report(checksum, (uint64_t)pairs);
}
