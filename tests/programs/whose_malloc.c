/* Four threads allocate and free; prints whose malloc the program has. */
#include <pthread.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

size_t heapsmith_counter_count(void) __attribute__((weak));

static void *work(void *seed)
{
    for (size_t at = 1; at < 20000; at++) {
        char *block = malloc(at * (size_t)seed % 3000 + 1);
        *(volatile char *)block = 1;
        free(block);
    }
    return malloc(100);
}

int main(void)
{
    pthread_t threads[4];
    for (size_t at = 0; at < 4; at++)
        if (pthread_create(&threads[at], NULL, work, (void *)(at + 1)) != 0)
            return 1;
    for (size_t at = 0; at < 4; at++) {
        void *block;
        pthread_join(threads[at], &block);
        free(block); /* another thread's */
    }
    puts(heapsmith_counter_count != NULL ? "heapsmith" : "another");
    return 0;
}
