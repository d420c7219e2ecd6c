/* What a thread may do first with heapsmith.h, and what it gets at the end of memory: by hs_alloc_64 and hs_free_64. */
#include "heapsmith.h"

#include <errno.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>

static void *allocate(void *unused)
{
    (void)unused;
    return hs_alloc_64();
}

static void *release(void *block)
{
    hs_free_64(block);
    return NULL;
}

static void *in_a_thread(void *(*work)(void *), void *argument)
{
    pthread_t thread;
    void *result = NULL;
    if (pthread_create(&thread, NULL, work, argument) == 0)
        pthread_join(thread, &result);
    return result;
}

int main(void)
{
    hs_free_64(NULL);
    void *block = in_a_thread(allocate, NULL);
    in_a_thread(release, block);
    in_a_thread(release, NULL);

    struct { void *next; } *kept = NULL, *next;
    long blocks = 0, again = 0;
    for (errno = 0; (next = hs_alloc_64()) != NULL; kept = next, blocks++)
        next->next = kept;
    int error = errno;
    for (; kept != NULL; kept = next) {
        next = kept->next;
        hs_free_64(kept);
    }
    for (; (next = hs_alloc_64()) != NULL; again++)
        ;
    /* A superslab that was unmapped in between is mapped again whole, and a slab may find no room. */
    printf("%d %d %d %d\n", block != NULL, blocks > 1000, error == ENOMEM, again >= blocks - blocks / 100);
    return 0;
}
