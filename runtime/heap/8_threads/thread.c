/* The life of heaps: started at a thread's first allocation, drained and abandoned at its exit. */
#include "8_threads/thread.h"

#include "1_base/bound.h"
#include "4_blocks/hardening/hardening.h"
#include "7_large/huge.h"
#include "2_system/locks.h"
#include "2_system/os.h"
#include "5_slab_policies/release/release.h"
#include "5_slab_policies/remote/remote.h"
#ifdef PROCESSOR_BATCH
#include "8_threads/heaps/processor.h"
#endif
#include "8_threads/rows.h"
#include "7_large/run_ages.h"
#include "7_large/run_cache.h"
#include "7_large/run_pages.h"
#include "5_slab_policies/shards/shards.h"
#include "6_slabs/slabs.h"
#include "6_slabs/store.h"

#include <errno.h>
#include <limits.h>
#include <pthread.h>

static bool heaps_usable; /* written under the pool lock */
static bool has_exit_key;
static pthread_key_t exit_key; /* its destructor runs at thread exit */
static __thread uint8_t exits; /* how often it ran in this thread */
struct heap *hs_newest_heap;
struct heap *hs_abandoned;

void hs_drain_fronts(struct heap *heap)
{
    remote_hand_over(heap);
    remote_drain(heap);
    for (unsigned class = 0; class < CLASS_COUNT; class++)
        if (hs_class[class].drain != NULL)
            hs_class[class].drain(heap, class);
}

#ifdef DRAIN_INTERVAL
void hs_flushed(struct heap *heap)
{
    if (++heap->flushes < DRAIN_INTERVAL)
        return;
    heap->flushes = 0;
#ifdef DRAINS_BY_CLASS
    remote_before_take(heap, CLASS_COUNT);
#else
    remote_drain(heap);
#endif
}
#endif

#ifdef RELEASE_LOOKS
void hs_look(void)
{
    if (!release_look_due())
        return;
    slabs_age();
    hs_lock_large();
    ages_release();
    hs_unlock_large();
    if (!release_near_limit())
        return;
    run_cache_spill(hs_self);
    huge_trim(false);
}
#endif

#ifndef PROCESSOR_BATCH
static void give_up(struct heap *heap)
{
    hardening_empty(heap);
    hs_drain_fronts(heap);
    run_cache_empty(heap);
    hs_become(&hs_no_heap);
    hs_lock_pool();
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
#endif

/* Under the pool lock. A start that fails is tried again by the next allocation. Without a key, which is asked for until
 * the rest has started, heaps outlive their threads. */
static void start(void)
{
#ifndef PROCESSOR_BATCH
    if (!has_exit_key)
        has_exit_key = pthread_key_create(&exit_key, abandon) == 0;
#endif
    if (!os_arena(slabs_space() + pages_space()))
        return;
    slabs_init();
    pages_init();
    nodes_start();
    __atomic_store_n(&heaps_usable, true, __ATOMIC_RELEASE);
}

bool hs_started(void)
{
    if (__atomic_load_n(&heaps_usable, __ATOMIC_ACQUIRE))
        return true;
    int saved = errno;
    hs_lock_pool();
    if (!heaps_usable)
        start();
    bool now = heaps_usable;
    hs_unlock_pool();
    errno = saved;
    return now;
}

static struct heap *create(void)
{
    struct heap *heap = os_map(sizeof *heap + SLOT_COUNT * sizeof heap->slot[0], 1);
    if (heap == NULL)
        return NULL;
    hs_rows_init(heap);
#if defined SHARD_RECORDS && !defined SHARD_NODES
    heap->shard = hs_count.heaps % SHARDS;
#endif
#ifdef REMOTE_LOCKS
    heap->remote_part[0] = hs_count.heaps % REMOTE_LOCKS;
#endif
    heap->earlier = hs_newest_heap;
    __atomic_store_n(&hs_newest_heap, heap, __ATOMIC_RELEASE); /* a signal's report may walk the list at any moment */
    count_own(&hs_count.heaps, 1);
    return heap;
}

#ifdef PROCESSOR_BATCH
struct heap *hs_own_heap(void)
{
    return processor_heap_at(processor_place());
}

/* Nobody gives it up: it outlives all threads. */
struct heap *hs_heap_start(void)
{
    struct heap *heap = hs_own_heap();
    if (heap != &hs_no_heap)
        return heap;
    int saved = errno;
    if (hs_started()) {
        hs_lock_pool();
        size_t place = processor_place();
        heap = processor_heap_at(place);
        struct heap *made = heap == &hs_no_heap ? create() : NULL;
        if (made != NULL) {
#ifdef SHARD_NODES
            made->shard = nodes_shard(processor_at(place));
#endif
            processor_settle(place, heap = made);
        }
        hs_unlock_pool();
    }
    errno = saved;
    return heap;
}
#else
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

/* Not after the last round of destructors: nobody would give that heap up. A thread that never allocated before that round
 * keeps its heap beyond its end; how many rounds went by without us it cannot know. */
GATE struct heap *hs_heap_start(void)
{
    int saved = errno;
    struct heap *heap = NULL;
    bool is_new = false;
    if (exits < PTHREAD_DESTRUCTOR_ITERATIONS && hs_started()) {
        hs_lock_pool();
        heap = adopt();
        is_new = heap == NULL;
        if (is_new)
            heap = create();
        hs_unlock_pool();
    }
    if (heap != NULL) {
        hs_become(heap); /* the next line may allocate */
        if (has_exit_key && pthread_setspecific(exit_key, &hs_no_heap) != 0)
            give_up(heap); /* nobody would see the thread's end; its next request tries again */
#ifdef PREWARMS
        else if (is_new)
            prewarm(heap);
#endif
#ifdef DRAIN_MOST
        else if (!is_new)
            remote_drain(heap);
#endif
    }
    errno = saved;
    return hs_self;
}
#endif

GATE void hs_free_without_heap(unsigned class, void *block)
{
    if (hs_heap_start() != &hs_no_heap) {
        hs_free_small(block);
        return;
    }
    count_shared(&hs_no_heap.count[class].direct, 1);
    hs_give_all(&hs_no_heap, class, &block, 1);
}

void hs_forget_heaps(void)
{
    for (struct heap *heap = hs_newest_heap, *earlier; heap != NULL; heap = earlier) {
        earlier = heap->earlier;
        os_unmap(heap, sizeof *heap + SLOT_COUNT * sizeof heap->slot[0]);
    }
    hs_newest_heap = hs_abandoned = NULL;
#ifdef PROCESSOR_BATCH
    processors_forget();
#else
    hs_become(&hs_no_heap);
#endif
    exits = 0;
    if (has_exit_key)
        pthread_setspecific(exit_key, NULL);
}
