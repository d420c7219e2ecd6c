/* run_core PATH THREADS FAULT: threads allocate blocks of all kinds and free some; PATH tells which are live ("l"), free ("f")
 * and what a large one is ("r", "h"). Then the process does what FAULT names, and ends by SIGSEGV, or waits with "wait". */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { BLOCKS = 1500, MOST_THREADS = 8 };

static void *blocks[MOST_THREADS][BLOCKS];
static pthread_barrier_t allocated; /* nothing is allocated after the first free */
static size_t asked[MOST_THREADS][BLOCKS];

static void *work(void *number)
{
    unsigned thread = (unsigned)(uintptr_t)number, seed = thread + 1;
    for (unsigned i = 0; i < BLOCKS; i++) {
        seed = seed * 1103515245 + 12345;
        asked[thread][i] = 1 + (seed >> 16) % (i % 50 == 0 ? 20000 : 600);
        blocks[thread][i] = malloc(asked[thread][i]);
        memset(blocks[thread][i], 'x', asked[thread][i]);
    }
    pthread_barrier_wait(&allocated);
    for (unsigned i = 0; i < BLOCKS; i += 3)
        free(blocks[thread][i]);
    return NULL;
}

int main(int count, char **words)
{
    unsigned threads = count > 3 ? (unsigned)atoi(words[2]) : 0;
    if (threads == 0 || threads > MOST_THREADS)
        return 2;
    char *run = malloc(300000), *huge = malloc((size_t)64 << 20), *local = malloc(40);
    char *volatile inside = local; /* or the compiler would see what is wrong */
    memset(run, 1, 300000);
    huge[0] = 1;
    FILE *file = fopen(words[1], "w");
    if (file == NULL)
        return 2;
    static char buffer[1 << 16];
    setvbuf(file, buffer, _IOFBF, sizeof buffer);
    pthread_barrier_init(&allocated, NULL, threads);
    pthread_t ids[MOST_THREADS];
    for (unsigned i = 1; i < threads; i++)
        pthread_create(&ids[i], NULL, work, (void *)(uintptr_t)i);
    work((void *)0);
    for (unsigned i = 1; i < threads; i++)
        pthread_join(ids[i], NULL);
    for (unsigned i = 0; i < threads; i++) /* blocks of other threads, too */
        for (unsigned j = 1; j < BLOCKS; j += 30)
            free(blocks[i][j]);
    for (unsigned i = 0; i < threads; i++)
        for (unsigned j = 0; j < BLOCKS; j++)
            fprintf(file, "%c %p %zu\n", j % 3 == 0 || j % 30 == 1 ? 'f' : 'l', blocks[i][j], asked[i][j]);
    fprintf(file, "r %p 300000\nh %p %zu\nl %p 40\n", (void *)run, (void *)huge, (size_t)64 << 20, (void *)local);
    fclose(file);
    if (strcmp(words[3], "twice") == 0) {
        free(local);
        free(local);
    }
    if (strcmp(words[3], "middle") == 0)
        free(inside + 16);
    if (strcmp(words[3], "wait") == 0) {
        puts("ready");
        fflush(stdout);
        pause();
    }
    register char *kept __asm__("rbx") = (char *)blocks[0][2] + 5;
    __asm__ volatile("" : : "r"(kept));
    *(volatile char *)16 = 1;
    return 0;
}
