/* Destructors of thread-specific data allocate and free, also when they set their key again and run in further
   rounds. */
#include "behaviour.h"

#include <pthread.h>
#include <stdatomic.h>

static pthread_key_t first, second;
static atomic_int runs;

static void destroy_first(void *block)
{
    expect_filled(block, 100, 1);
    free(block);
    free(filled_block(3000, 3));
    pthread_setspecific(second, filled_block(200, 2));
    runs++;
}

static void destroy_second(void *block)
{
    static _Thread_local int rounds;
    expect_filled(block, 200, 2);
    free(block);
    if (++rounds < 3)
        pthread_setspecific(second, filled_block(200, 2));
    runs++;
}

static void *work(void *unused)
{
    pthread_setspecific(first, filled_block(100, 1));
    return unused;
}

int main(void)
{
    pthread_key_create(&first, destroy_first);
    pthread_key_create(&second, destroy_second);
    for (int i = 0; i < 50; i++) {
        pthread_t thread;
        pthread_create(&thread, NULL, work, NULL);
        pthread_join(thread, NULL);
    }
    expect(runs == 50 * 4, "%d of 200 destructors ran", runs);
    return 0;
}
