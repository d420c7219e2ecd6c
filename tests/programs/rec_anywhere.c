/* Blocks of 7000 bytes and more that are the same on each processor and with each C library: by four threads one after the
 * other, each of which frees what the other left, then by a child if there is an argument. */
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

enum { LEAST = 7000, BLOCKS = 500 };

static void *left[BLOCKS];

static void *work(void *which)
{
    for (uintptr_t i = 0; i < BLOCKS; i++) {
        size_t bytes = LEAST + (uintptr_t)which * BLOCKS + i;
        free(left[i]);
        left[i] = i % 3 == 0 ? calloc(1, bytes) : malloc(bytes);
        if (i % 5 == 0)
            left[i] = realloc(left[i], 2 * bytes);
        if (i % 7 == 0) {
            free(left[i]);
            if (posix_memalign(&left[i], 64 << i % 4, bytes) != 0)
                abort();
        }
    }
    return NULL;
}

int main(int arguments, char **argument)
{
    for (uintptr_t which = 0; which < 4; which++) {
        pthread_t thread;
        if (pthread_create(&thread, NULL, work, (void *)which) != 0 || pthread_join(thread, NULL) != 0)
            return 3;
    }
    (void)argument;
    if (arguments == 1)
        return 0;
    pid_t child = fork();
    if (child == 0) {
        work((void *)4);
        exit(0);
    }
    int status;
    return waitpid(child, &status, 0) != child || status != 0;
}
