/* ns per event of malloc and free, the least of many rounds: run it with and without the recorder
 * (docs/lab/recording.md). */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { ROUNDS = 250, PAIRS = 20000 };

static double now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * 1e9 + now.tv_nsec;
}

int main(void)
{
    double least = 1e18;
    for (int round = 0; round < ROUNDS; round++) {
        double began = now_ns();
        for (int i = 0; i < PAIRS; i++)
            free(malloc(16 + (i & 255)));
        double each = (now_ns() - began) / (2.0 * PAIRS);
        least = each < least ? each : least;
    }
    printf("%.1f ns/event\n", least);
    return 0;
}
