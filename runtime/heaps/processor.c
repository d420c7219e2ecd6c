/* Heaps of processors: how a thread finds that of its processor, and pops and pushes under a lock where it cannot otherwise. */
#define _GNU_SOURCE
#include "heaps/processor.h"

#include "lock.h"

#include <pthread.h>
#include <sched.h>
#include <string.h>

/* The C library's registration with the kernel, since glibc 2.35; a size of 0: switched off, or a kernel without it. */
extern const ptrdiff_t __rseq_offset __attribute__((weak));
extern const unsigned int __rseq_size __attribute__((weak));

enum { HEAP_LOCKS = 64, LEAST_RSEQ_BYTES = 20 };

static struct restartable nowhere = { .processor = -1 };
__thread struct restartable *hs_here = &nowhere;
intptr_t hs_processor_heap[NO_PROCESSOR + 2 * PROCESSORS];
static struct lock heap_lock[HEAP_LOCKS]; /* of heaps that threads use without restartable sequences, by their processors */

/* Or told its processor. A thread that takes back the C library's registration has no number from then on. */
static bool is_restartable(void)
{
    return __atomic_load_n(&hs_here->processor, __ATOMIC_RELAXED) >= 0;
}

/* A thread that the C library did not make, or a child that shares its parent's memory, has no number there. */
bool processor_found(void)
{
    if (is_restartable())
        return false;
    if (&__rseq_size != NULL && __rseq_size >= LEAST_RSEQ_BYTES) {
        struct restartable *own = (struct restartable *)((char *)__builtin_thread_pointer() + __rseq_offset);
        if (__atomic_load_n(&own->processor, __ATOMIC_RELAXED) >= 0)
            hs_here = own;
    }
    return true;
}

static size_t locked_processor(void)
{
    int number = sched_getcpu();
    return number < 0 ? 0 : (size_t)number % PROCESSORS;
}

size_t processor_place(void)
{
    if (!is_restartable())
        return NO_PROCESSOR + PROCESSORS + locked_processor();
    return NO_PROCESSOR + (size_t)__atomic_load_n(&hs_here->processor, __ATOMIC_RELAXED);
}

void processor_settle(size_t place, struct heap *heap)
{
    __atomic_store_n(&hs_processor_heap[place], (char *)heap - (char *)&hs_no_heap, __ATOMIC_RELEASE);
}

static struct lock *lock_of(size_t place)
{
    return &heap_lock[place % HEAP_LOCKS];
}

static __thread bool forks; /* the thread is in the middle of a fork, and holds all heap locks */

/* Is the lock taken now? */
static bool acquired(struct lock *lock)
{
    if (forks)
        return false;
    lock_acquire(lock);
    return true;
}

static void *take_locked(unsigned class)
{
    size_t place = processor_place();
    bool is_acquired = acquired(lock_of(place));
    void ***top = &processor_heap_at(place)->top[1 + class];
    void *block = (*top)[-1];
    if (block != NULL)
        __atomic_store_n(top, *top - 1, __ATOMIC_RELAXED);
    if (is_acquired)
        lock_release(lock_of(place));
    return block;
}

static bool put_locked(unsigned class, void *block)
{
    size_t place = processor_place();
    bool is_acquired = acquired(lock_of(place));
    struct heap *heap = processor_heap_at(place);
    void ***top = &heap->top[1 + class];
    bool has_room = *top != heap->end[1 + class];
    if (has_room) {
        **top = block;
        __atomic_store_n(top, *top + 1, __ATOMIC_RELEASE);
    }
    if (is_acquired)
        lock_release(lock_of(place));
    return has_room;
}

void *processor_take(unsigned class)
{
    return is_restartable() ? processor_pop(1 + class) : take_locked(class);
}

bool processor_put(unsigned class, void *block)
{
    return is_restartable() ? processor_push(1 + class, block) : put_locked(class, block);
}

void processors_forget(void)
{
    memset(hs_processor_heap, 0, sizeof hs_processor_heap);
}

/* A fork holds the locks of heaps that no sequence guards, so that the child of a handler of another library, which may
 * allocate before ours, finds them free or its own. What the code that a signal interrupted holds stays its own; then this
 * gives up after some tries, as the others do (locks.c). Nobody takes a lock under one of these. */
enum { TRIES = 1000 };
static __thread uint64_t heaps_held, heaps_taken;

static void take_heap_locks(void)
{
    heaps_held = heaps_taken = 0;
    for (size_t place = 0; place < HEAP_LOCKS; place++)
        heaps_held |= (uint64_t)lock_mine(lock_of(place)) << place;
    int tries = 0;
    for (size_t place = 0; place < HEAP_LOCKS; place++) {
        bool is_taken = false;
        while ((heaps_held >> place & 1) == 0 && !is_taken && (heaps_held == 0 || tries < TRIES)) {
            is_taken = lock_try(lock_of(place));
            if (!is_taken) {
                sched_yield();
                tries++;
            }
        }
        heaps_taken |= (uint64_t)is_taken << place;
    }
    forks = true;
}

static void release_heap_locks(void)
{
    forks = false;
    for (size_t place = 0; place < HEAP_LOCKS; place++)
        if (heaps_taken >> place & 1)
            lock_release(lock_of(place));
}

/* The child has none of the threads that held the others. What these had done is whole: a top moves last. */
static void forget_heap_locks(void)
{
    for (size_t place = 0; place < HEAP_LOCKS; place++)
        if (((heaps_held | heaps_taken) >> place & 1) == 0)
            lock_forget(lock_of(place));
    release_heap_locks();
}

__attribute__((constructor)) static void watch_forks(void)
{
    pthread_atfork(take_heap_locks, release_heap_locks, forget_heap_locks);
}

/* For who performs events in one order, before each: the processor of the next one, on whatever thread; below 0: from here
 * on the kernel says it. The first call comes before the first allocation. */
__attribute__((visibility("default"))) void heapsmith_processor(int32_t processor);
void heapsmith_processor(int32_t processor)
{
    __atomic_store_n(&nowhere.processor, processor < 0 ? -1 : processor, __ATOMIC_RELAXED);
}
