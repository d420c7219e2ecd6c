/* Threads swap blocks through a few shared slots, so that addresses pass from thread to thread as fast as they
 * can: run it without thread caches and with one arena. argv[1]: where to write how many mallocs, reallocs and
 * frees there were. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

enum { THREADS = 4, SLOTS = 8, ROUNDS = 40000, LEAST = 1040 };

static void *slots[SLOTS];
static long mallocs[THREADS], reallocs[THREADS], frees[THREADS];

static void *swap(void *number)
{
    long *me = number, t = me - mallocs;
    unsigned random = 12345 + 77 * (unsigned)t;
    for (int i = 0; i < ROUNDS; i++) {
        random = random * 1103515245 + 12345;
        void *block = malloc(LEAST + (random >> 20) % 200);
        mallocs[t]++;
        block = __atomic_exchange_n(&slots[(random >> 8) % SLOTS], block, __ATOMIC_ACQ_REL);
        if (block != NULL && random >> 30 == 0) {
            block = realloc(block, LEAST + 2000 * (1 + (random >> 16) % 8));
            reallocs[t]++;
        }
        if (block != NULL) {
            free(block);
            frees[t]++;
        }
    }
    return NULL;
}

int main(int count, char **arguments)
{
    pthread_t threads[THREADS];
    for (int t = 0; t < THREADS; t++)
        pthread_create(&threads[t], NULL, swap, &mallocs[t]);
    for (int t = 0; t < THREADS; t++)
        pthread_join(threads[t], NULL);
    long totals[3] = {0, 0, 0};
    for (int t = 0; t < THREADS; t++) {
        totals[0] += mallocs[t];
        totals[1] += reallocs[t];
        totals[2] += frees[t];
    }
    FILE *file = count == 2 ? fopen(arguments[1], "w") : NULL;
    if (file == NULL)
        return 1;
    fprintf(file, "%ld %ld %ld\n", totals[0], totals[1], totals[2]);
    return fclose(file) != 0;
}
