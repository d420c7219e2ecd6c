/* Heaps of threads: got at a thread's first allocation, drained and abandoned at its exit. */
#include "8_threads/heaps/thread.h"

#include "1_base/bound.h"
#include "2_system/locks.h"
#include "4_blocks/hardening/hardening.h"
#include "7_large/run_cache/run_cache.h"
#include "8_threads/life.h"
#include "moments.h"

#include <errno.h>
#include <limits.h>
#include <pthread.h>

static bool has_exit_key;
static pthread_key_t exit_key; /* its destructor runs at thread exit */
static __thread uint8_t exits; /* how often it ran in this thread */

static void give_up(struct heap *heap)
{
    hardening_empty(heap);
    hs_drain_fronts(heap);
    run_cache_empty(heap);
    hs_become(&hs_no_heap);
    hs_lock_pool();
    count_locks(LOCKS_HEAP_END);
    heap->next = hs_abandoned;
    hs_abandoned = heap;
    hs_unlock_pool();
}

/* Thread exit: the exit key's destructor. The destructors of other keys may allocate after it, so that the thread gets a
 * heap again: it comes back in every round, the last one included. */
static void abandon(void *unused)
{
    if (hs_self != &hs_no_heap)
        give_up(hs_self);
    if (++exits < PTHREAD_DESTRUCTOR_ITERATIONS)
        pthread_setspecific(exit_key, &hs_no_heap);
}

/* Without a key, which is asked for until the rest has started, heaps outlive their threads. */
void heaps_begin(void)
{
    if (!has_exit_key)
        has_exit_key = pthread_key_create(&exit_key, abandon) == 0;
}

struct heap *hs_own_heap(void)
{
    return hs_self;
}

static struct heap *adopt(void)
{
    struct heap *heap = hs_abandoned;
    if (heap != NULL) {
        hs_abandoned = heap->next;
        count_own(&hs_count.adoptions, 1);
    }
    return heap;
}

/* The start of the library may allocate: musl's pthread_atfork does. The thread has a heap then.
 *
 * Not after the last round of destructors: nobody would give that heap up. A thread that never allocated before that round
 * keeps its heap beyond its end; how many rounds went by without us it cannot know. */
GATE struct heap *hs_heap_start(void)
{
    int saved = errno;
    struct heap *heap = NULL;
    bool is_new = false;
    if (exits < PTHREAD_DESTRUCTOR_ITERATIONS && hs_started() && hs_self == &hs_no_heap) {
        hs_lock_pool();
        count_locks(LOCKS_HEAP_START);
        heap = adopt();
        is_new = heap == NULL;
        if (is_new)
            heap = hs_heap_create();
        hs_unlock_pool();
    }
    if (heap != NULL) {
        hs_become(heap); /* the next line may allocate */
        if (has_exit_key && pthread_setspecific(exit_key, &hs_no_heap) != 0)
            give_up(heap); /* nobody would see the thread's end; its next request tries again */
        else if (is_new)
            on_heap_started(heap);
        else
            on_heap_adopted(heap);
    }
    errno = saved;
    return hs_self;
}

void heaps_forget(void)
{
    hs_become(&hs_no_heap);
    exits = 0;
    if (has_exit_key)
        pthread_setspecific(exit_key, NULL);
}
