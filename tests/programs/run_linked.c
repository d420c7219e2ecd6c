/* Linked with a heapsmith library: its own names may be those of the library's insides; threads, fork, libc's own use. */
#include <malloc.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { THREADS = 4, BLOCKS = 1000 };

const char *heapsmith_design(void);
int heapsmith_checked(void);

/* Names of the library's insides. */
int hs_take = 1, os_map = 2, started = 3;

static void *work(void *with)
{
    void *block[BLOCKS];
    for (int round = 0; round < 20; round++) {
        for (int index = 0; index < BLOCKS; index++)
            block[index] = malloc((size_t)index * 7 % 3000);
        for (int index = 0; index < BLOCKS; index++)
            free(block[index]);
    }
    return with != NULL ? with : strdup("from a thread");
}

static void run_threads(void)
{
    pthread_t thread[THREADS];
    for (int index = 0; index < THREADS; index++)
        if (pthread_create(&thread[index], NULL, work, NULL) != 0)
            exit(2);
    for (int index = 0; index < THREADS; index++) {
        void *text;
        pthread_join(thread[index], &text);
        if (strcmp(text, "from a thread") != 0)
            exit(3);
        free(text);
    }
}

int main(void)
{
    char *line = NULL;
    size_t held = 0;
    FILE *file = fopen("/proc/self/status", "r");
    while (getline(&line, &held, file) > 0)
        ;
    fclose(file);
    run_threads();
    if (fork() == 0) {
        run_threads();
        free(line);
        exit(0);
    }
    int status;
    wait(&status);
    line = realloc(line, 1 << 20);
    int plausible = malloc_usable_size(line) >= 1 << 20 && mallinfo2().arena > 1 << 20 && mallopt(M_MXFAST, 0) == 1;
    free(line);
    printf("%s %d %d %d %d\n", heapsmith_design(), heapsmith_checked(), status, plausible, malloc_trim(0));
    return hs_take + os_map + started - 6;
}
