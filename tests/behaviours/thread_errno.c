/* errno stays as it was in a thread's first allocation and its last free. */
#include "behaviour.h"

#include <pthread.h>

static void *work(void *block)
{
    errno = UNTOUCHED;
    free(block);
    expect_untouched("a thread's first free");
    block = malloc(100);
    expect_untouched("a thread's first malloc");
    free(block);
    expect_untouched("a thread's last free");
    return NULL;
}

int main(void)
{
    for (int i = 0; i < 20; i++) {
        pthread_t thread;
        pthread_create(&thread, NULL, work, malloc(50));
        pthread_join(thread, NULL);
    }
    return 0;
}
