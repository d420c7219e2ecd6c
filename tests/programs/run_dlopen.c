/* A library that arrives late: other libraries with initial-exec TLS first, then heapsmith's by dlopen; used by threads that
 * were there before and by new ones; closed, and used by threads that go on. argv: local or global, the library, others. */
#include "run_blocks.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>

enum { BLOCKS = 500 };

static void *(*allocate)(size_t);
static void *(*resize)(void *, size_t);
static void (*give_back)(void *);
static int64_t (*locate)(const void *);
static pthread_barrier_t barrier;

static void use(void)
{
    struct block row[BLOCKS];
    uint32_t random = 6;
    for (int index = 0; index < BLOCKS; index++) {
        size_t bytes = random_bytes(&random);
        row[index] = (struct block){ allocate(bytes), bytes, (unsigned char)index };
        demand(row[index].start != NULL && locate(row[index].start) >= 0, "no block of the library's");
        fill(&row[index]);
    }
    for (int index = 0; index < BLOCKS; index++) {
        demand(kept(&row[index], row[index].bytes), "a block lost its contents");
        row[index].start = resize(row[index].start, row[index].bytes + 5000);
        demand(row[index].start != NULL && kept(&row[index], row[index].bytes), "realloc lost the contents");
        give_back(row[index].start);
    }
}

static void *old_thread(void *unused)
{
    pthread_barrier_wait(&barrier);
    pthread_barrier_wait(&barrier); /* now the library is there */
    use();
    pthread_barrier_wait(&barrier);
    pthread_barrier_wait(&barrier); /* now it is closed */
    use();
    return unused;
}

static void *new_thread(void *unused)
{
    use();
    return unused;
}

static void *function(void *library, const char *name)
{
    void *found = dlsym(library, name);
    demand(found != NULL, "a function is missing");
    return found;
}

static void *open_library(const char *path, int flags)
{
    void *library = dlopen(path, RTLD_NOW | flags);
    demand(library != NULL, library == NULL ? dlerror() : "");
    return library;
}

static void run(pthread_t *thread, void *(*work)(void *))
{
    demand(pthread_create(thread, NULL, work, NULL) == 0, "no thread");
}

int main(int count, char **arguments)
{
    demand(count > 2, "usage: local|global LIBRARY [OTHERS]");
    pthread_t old, new;
    void *before = malloc(100);
    pthread_barrier_init(&barrier, NULL, 2);
    run(&old, old_thread);
    pthread_barrier_wait(&barrier);
    for (int index = 3; index < count; index++) {
        int *(*own)(void) = function(open_library(arguments[index], RTLD_LOCAL), "shim_tls");
        demand(*own() == 4711, "another library's TLS is broken");
    }
    void *library = open_library(arguments[2], strcmp(arguments[1], "global") == 0 ? RTLD_GLOBAL : RTLD_LOCAL);
    allocate = function(library, "malloc");
    resize = function(library, "realloc");
    give_back = function(library, "free");
    locate = function(library, "heapsmith_locate");
    demand(locate(before) == -1 && locate(malloc(100)) == -1, "the program's own malloc changed under way");
    pthread_barrier_wait(&barrier);
    use();
    run(&new, new_thread);
    pthread_barrier_wait(&barrier);
    demand(dlclose(library) == 0, "dlclose failed");
    pthread_barrier_wait(&barrier);
    pthread_join(new, NULL);
    pthread_join(old, NULL);
    run(&new, new_thread);
    pthread_join(new, NULL);
    free(before);
    return puts("done") < 0;
}
