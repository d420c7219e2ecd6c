/* A thread's first allocation may come in a destructor of thread-specific data. */
#include "behaviour.h"

#include <pthread.h>

static pthread_key_t key;

static void destroy(void *unused)
{
    (void)unused;
    for (size_t i = 0; i < 20; i++) {
        void *block = filled_block(TIERS[i], i);
        expect_filled(block, TIERS[i], i);
        free(block);
    }
}

static void *work(void *unused)
{
    pthread_setspecific(key, &key);
    return unused;
}

int main(void)
{
    pthread_key_create(&key, destroy);
    for (int i = 0; i < 10; i++) {
        pthread_t thread;
        pthread_create(&thread, NULL, work, NULL);
        pthread_join(thread, NULL);
    }
    return 0;
}
