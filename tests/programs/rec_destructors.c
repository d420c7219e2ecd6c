/* Allocation after a thread has said that it ends, and after main: keys' destructors (which allocate in every one
 * of the four rounds there are), atexit, a destructor function. */
#include <pthread.h>
#include <stdlib.h>

static pthread_key_t key;

static void again(void *block)
{
    free(block);
    pthread_setspecific(key, malloc(6300));
}

static void *run(void *unused)
{
    pthread_setspecific(key, malloc(6300));
    return unused;
}

static void at_exit(void)
{
    free(malloc(6301));
}

__attribute__((destructor)) static void at_end(void)
{
    free(malloc(6302));
}

int main(void)
{
    pthread_t thread;
    atexit(at_exit);
    pthread_key_create(&key, again);
    pthread_create(&thread, NULL, run, NULL);
    pthread_join(thread, NULL);
    return 0;
}
