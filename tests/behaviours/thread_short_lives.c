/* 500 threads, one after the other, that each leave what they freed behind: the memory does not grow. */
#include "behaviour.h"

#include <pthread.h>

static void *work(void *unused)
{
    void *blocks[200];
    for (size_t i = 0; i < COUNT_OF(blocks); i++)
        blocks[i] = dirty_block(1 + i * 10);
    for (size_t i = 0; i < COUNT_OF(blocks); i++)
        free(blocks[i]);
    return unused;
}

int main(void)
{
    size_t before = 0;
    for (int i = 0; i < 500; i++) {
        pthread_t thread;
        expect(pthread_create(&thread, NULL, work, NULL) == 0, "thread %d could not be started", i);
        pthread_join(thread, NULL);
        if (i == 50)
            before = memory_of_process(1);
    }
    expect(memory_of_process(1) < before + 3 * MEBI, "%zu bytes became %zu after 450 more threads", before,
        memory_of_process(1));
    return 0;
}
