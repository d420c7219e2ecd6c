/* Threads that each are the first to open a library with RTLD_DEEPBIND have one heap with it, and none of them faults.
 * argv[1]: the library. */
#include "run_blocks.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

enum { PROCESSES = 200, THREADS = 4 };

static const char *file;
static pthread_barrier_t start;

static void *open_deep(void *with)
{
    pthread_barrier_wait(&start);
    void *library = dlopen(file, RTLD_NOW | RTLD_LOCAL | RTLD_DEEPBIND);
    demand(library != NULL, "dlopen failed");
    void *(*deep_malloc)(size_t) = (void *(*)(size_t))dlsym(library, "deep_malloc");
    demand(deep_malloc != NULL, "dlsym failed");
    void *deep = deep_malloc(100);
    demand(heapsmith_locate(deep) != -1, "the library's malloc is another one");
    free(deep);
    return with;
}

static void open_at_once(void)
{
    pthread_t threads[THREADS];
    pthread_barrier_init(&start, NULL, THREADS);
    for (int index = 0; index < THREADS; index++)
        demand(pthread_create(&threads[index], NULL, open_deep, NULL) == 0, "pthread_create failed");
    for (int index = 0; index < THREADS; index++)
        pthread_join(threads[index], NULL);
}

int main(int count, char **arguments)
{
    file = count == 2 ? arguments[1] : "";
    for (int process = 0; process < PROCESSES; process++) {
        int status;
        pid_t child = fork();
        if (child == 0) {
            open_at_once();
            _exit(0);
        }
        demand(child > 0 && waitpid(child, &status, 0) == child && status == 0, "a process that opens the library failed");
    }
    return puts("done") < 0;
}
