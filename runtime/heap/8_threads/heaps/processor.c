/* Heaps of processors: how a thread finds that of its processor, and pops and pushes under a lock where it cannot otherwise. */
#define _GNU_SOURCE
#include "8_threads/heaps/processor.h"

#include "2_system/locks.h"
#include "2_system/numbered_locks.h"
#include "8_threads/life.h"
#include "moments.h"

#include <errno.h>
#include <sched.h>
#include <string.h>

/* The C library's registration with the kernel, since glibc 2.35; a size of 0: switched off, or a kernel without it. */
extern const ptrdiff_t __rseq_offset __attribute__((weak, visibility("default")));
extern const unsigned int __rseq_size __attribute__((weak, visibility("default")));

enum { LEAST_RSEQ_BYTES = 20, HEAP_LOCKS = NUMBERED_LOCKS - HEAPS_FIRST_LOCK };

static struct restartable nowhere = { .processor = -1 };
__thread struct restartable *hs_here = &nowhere;
intptr_t hs_processor_heap[NO_PROCESSOR + 2 * PROCESSORS];

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
    if (HAS_SEQUENCES && &__rseq_size != NULL && __rseq_size >= LEAST_RSEQ_BYTES) {
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

static unsigned lock_of(size_t place)
{
    return HEAPS_FIRST_LOCK + (unsigned)(place % HEAP_LOCKS);
}

static void *take_locked(unsigned class)
{
    size_t place = processor_place();
    hs_lock_number(lock_of(place));
    count_locks(LOCKS_OTHER);
    void ***top = &processor_heap_at(place)->top[1 + class];
    void *block = (*top)[-1];
    if (block != NULL)
        __atomic_store_n(top, *top - 1, __ATOMIC_RELAXED);
    hs_unlock_number(lock_of(place));
    return block;
}

static bool put_locked(unsigned class, void *block)
{
    size_t place = processor_place();
    hs_lock_number(lock_of(place));
    count_locks(LOCKS_OTHER);
    struct heap *heap = processor_heap_at(place);
    void ***top = &heap->top[1 + class];
    bool has_room = *top != heap->end[1 + class];
    if (has_room) {
        **top = block;
        __atomic_store_n(top, *top + 1, __ATOMIC_RELEASE);
    }
    hs_unlock_number(lock_of(place));
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
        count_locks(LOCKS_HEAP_START);
        size_t place = processor_place();
        heap = processor_heap_at(place);
        struct heap *made = heap == &hs_no_heap ? hs_heap_create() : NULL;
        if (made != NULL) {
            on_processor_heap(made, processor_at(place));
            processor_settle(place, heap = made);
        }
        hs_unlock_pool();
    }
    errno = saved;
    return heap;
}

void heaps_forget(void)
{
    memset(hs_processor_heap, 0, sizeof hs_processor_heap);
}

/* For who performs events in one order, before each: the processor of the next one, on whatever thread; below 0: from here
 * on the kernel says it. The first call comes before the first allocation. */
__attribute__((visibility("default"))) void heapsmith_processor(int32_t processor);
void heapsmith_processor(int32_t processor)
{
    __atomic_store_n(&nowhere.processor, processor < 0 ? -1 : processor, __ATOMIC_RELAXED);
}
