/* Out of memory in two threads at once: both see ENOMEM, both go on when memory is freed. */
#include "behaviour.h"

#include <pthread.h>

static void *take_and_free(void *unused)
{
    static _Thread_local void *blocks[2000];
    for (int round = 0; round < 3; round++) {
        size_t count = 0;
        errno = UNTOUCHED;
        while (count < COUNT_OF(blocks) && (blocks[count] = malloc(200000)) != NULL)
            count++;
        expect(count < COUNT_OF(blocks) && errno == ENOMEM, "%zu blocks of 200,000 bytes were had, errno %d", count,
            errno);
        while (count-- > 0)
            free(blocks[count]);
    }
    return unused;
}

int main(void)
{
    within_address_space(300 * MEBI);
    pthread_t thread;
    expect(pthread_create(&thread, NULL, take_and_free, NULL) == 0, "no thread in 300 MiB");
    take_and_free(NULL);
    pthread_join(thread, NULL);
    expect(malloc(200000) != NULL, "200,000 bytes were refused after all was freed");
    return 0;
}
