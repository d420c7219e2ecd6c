// Opened by run_locked_plugin.c, it waits in its constructor, with the dynamic linker's lock held, for a thread that allocates.
#include <cstdlib>
#include <new>
#include <pthread.h>

static void *allocate(void *unused)
{
    int *array = new int[1000]();
    delete[] array;
    int *one = new int(3);
    delete one;
    free(malloc(70000));
    char *block = static_cast<char *>(malloc(10));
    for (int size = 20; size < 2000000; size *= 2)
        block = static_cast<char *>(realloc(block, size));
    free(block);
    return unused;
}

__attribute__((constructor)) static void begin()
{
    pthread_t thread;
    if (pthread_create(&thread, nullptr, allocate, nullptr) != 0 || pthread_join(thread, nullptr) != 0)
        abort();
}
