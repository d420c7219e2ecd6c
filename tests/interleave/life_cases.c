/* The start of the library, heaps changing hands, and fork (runtime/heap/8_threads/life.c, heaps/thread.c, locks.c). */
#include "explore.h"

#define constructor unused /* nothing starts before main */
#include "8_threads/heaps/thread.c"
#include "8_threads/life.c"
#undef constructor
#include "2_system/locks.c"

#include "fork.h"

static struct heap heaps[THREADS];
static uint64_t made, inits, failing, pool_data, large_data, using[THREADS];

/* What thread.c needs of the rest of the runtime and of the system. */
struct heap hs_no_heap;
__thread struct heap *hs_self = &hs_no_heap;
struct heap_count hs_count;
size_t hs_span_bytes;
const struct class_plan hs_class[CLASS_COUNT];

void hs_become(struct heap *heap)
{
    hs_self = heap;
}

void *os_map(size_t bytes, size_t alignment)
{
    (void)bytes;
    (void)alignment;
    return &heaps[made++];
}

void slabs_init(void)
{
    hs_span_bytes = 1;
}

size_t slabs_space(void)
{
    return 0;
}

size_t pages_space(void)
{
    return 0;
}

void pages_init(void)
{
}

bool os_arena(size_t bytes)
{
    (void)bytes;
    return ++inits > failing;
}

int pthread_key_create(pthread_key_t *key, void (*destructor)(void *))
{
    (void)destructor;
    *key = 1;
    return 0;
}

int pthread_setspecific(pthread_key_t key, const void *value)
{
    (void)key;
    (void)value;
    return 0;
}

bool remote_drain(struct heap *heap)
{
    (void)heap;
    return false;
}

void hs_drain_front(struct heap *heap, unsigned class)
{
    (void)heap;
    (void)class;
}

void hardening_empty(struct heap *heap)
{
    (void)heap;
}

void hs_rows_init(struct heap *heap)
{
    (void)heap;
}

void run_cache_empty(struct heap *heap)
{
    (void)heap;
}

static void setup_unstarted(void)
{
    share("pool lock", &pool_lock, sizeof pool_lock);
    share("large lock", &large_lock, sizeof large_lock);
    share("heaps_usable", &heaps_usable, sizeof heaps_usable);
    share("has_exit_key", &has_exit_key, sizeof has_exit_key);
    share("exit_key", &exit_key, sizeof exit_key);
    share("hs_abandoned", &hs_abandoned, sizeof hs_abandoned);
    share("hs_newest_heap", &hs_newest_heap, sizeof hs_newest_heap);
    share("heap 0 held", &heaps[0].front[0].held, sizeof heaps[0].front[0].held);
    share("heap 1 held", &heaps[1].front[0].held, sizeof heaps[1].front[0].held);
    share("heap 2 held", &heaps[2].front[0].held, sizeof heaps[2].front[0].held);
    share("heap 0 links", &heaps[0].next, 2 * sizeof heaps[0].next);
    share("heap 1 links", &heaps[1].next, 2 * sizeof heaps[1].next);
    share("heap 2 links", &heaps[2].next, 2 * sizeof heaps[2].next);
    share("adoptions", &hs_count.adoptions, sizeof hs_count.adoptions);
    share("heaps", &hs_count.heaps, sizeof hs_count.heaps);
    share("span bytes", &hs_span_bytes, sizeof hs_span_bytes);
    share("made", &made, sizeof made);
    share("inits", &inits, sizeof inits);
    share("failing", &failing, sizeof failing);
    share("pool data", &pool_data, sizeof pool_data);
    share("large data", &large_data, sizeof large_data);
    share("using", using, sizeof using);
}

static void setup_failing(void)
{
    setup_unstarted();
    failing = 1;
}

static void setup(void)
{
    setup_unstarted();
    heaps_usable = true;
}

/* Whoever is told that the library has started sees all that starting it wrote. */
static void start_all(int thread)
{
    (void)thread;
    if (hs_started())
        expect(inits > failing && hs_span_bytes == 1, "the library is not what it was said to be");
    else
        expect(failing > 0, "the library does not start");
}

static uint64_t started_once(void)
{
    expect(inits <= failing + 1, "the library starts twice");
    expect(pool_lock.word == 0, "the pool lock is left taken");
    return inits;
}

/* A thread's life: it takes a heap, uses it as nobody else may, and abandons it. */
static void live(int thread)
{
    struct heap *heap = hs_heap_start();
    expect(heap != &hs_no_heap && hs_self == heap && exits == 0, "no heap");
    using[thread] = 1;
    heap->front[0].held++;
    using[thread] = 0;
    abandon(NULL);
}

static uint64_t heaps_in_peace(void)
{
    uint64_t lives = 0, listed = 0;
    for (struct heap *heap = hs_abandoned; heap != NULL; heap = heap->next)
        listed++;
    for (uint64_t heap = 0; heap < made; heap++)
        lives += heaps[heap].front[0].held;
    expect(listed == made && hs_count.heaps == made, "a heap is lost");
    expect(lives == made + hs_count.adoptions, "a life is lost");
    return made;
}

/* Threads live while another walks all heaps, as a report does. */
static void live_seen(int thread)
{
    if (thread < 2) {
        live(thread);
        return;
    }
    uint64_t seen = 0;
    for (const struct heap *heap = hs_heap_after(&hs_no_heap); heap != NULL; heap = hs_heap_after(heap))
        seen++;
    large_data = seen;
}

static uint64_t heaps_seen(void)
{
    return heaps_in_peace() << 4 | large_data;
}

static void use_pool(void)
{
    hs_lock_pool();
    pool_data++;
    hs_unlock_pool();
}

static void use_large(void)
{
    hs_lock_large();
    large_data++;
    hs_unlock_large();
}

/* Between the handlers other libraries' handlers may allocate. */
static void fork_here(bool as_child)
{
    before_fork();
    if (as_child)
        go_alone();
    use_pool();
    use_large();
    if (as_child)
        after_fork_in_child();
    else
        after_fork();
}

static void fork_both(int thread)
{
    (void)thread;
    fork_here(false);
}

/* One thread forks, the others are in the middle of malloc. */
static void fork_one(int thread)
{
    if (thread == 0)
        fork_here(false);
    else if (thread == 1)
        use_pool();
    else
        use_large();
}

/* The handlers run twice: two threads registered them at once, or a signal's handler forks amid fork. */
static void fork_twice(int thread)
{
    if (thread > 0) {
        use_pool();
        use_large();
        return;
    }
    before_fork();
    fork_here(false);
    use_pool();
    use_large();
    after_fork();
}

static void fork_to_child(int thread)
{
    if (thread == 0)
        fork_here(true);
    else if (thread == 1)
        use_pool();
    else
        use_large();
    if (thread == 0) {
        use_pool();
        use_large();
    }
}

/* A signal handler forks while its thread holds a lock: no other code of its process may hang for that. */
static void handler_large(int thread)
{
    if (thread == 0) {
        hs_lock_large();
        fork_once(false);
        expect(lock_mine(&large_lock), "fork released a lock that it did not take");
        hs_unlock_large();
    } else if (thread == 1) {
        fork_here(false);
    } else {
        use_pool();
    }
}

static void handlers_exchanged(int thread)
{
    if (thread == 0) {
        hs_lock_pool();
        fork_once(false);
        hs_unlock_pool();
    } else {
        hs_lock_large();
        fork_once(false);
        hs_unlock_large();
    }
}

static void child_of_handler(int thread)
{
    if (thread == 0) {
        hs_lock_large();
        fork_once(true);
        hs_unlock_large();
        use_pool();
        use_large();
    } else {
        hs_lock_pool();
        hs_unlock_pool();
        hs_lock_large();
        hs_unlock_large();
    }
}

static uint64_t all_free(void)
{
    expect(pool_lock.word == 0 && large_lock.word == 0, "a lock is left taken");
    return pool_data << 4 | large_data;
}

static const struct explored all[] = {
    { "start_2", 2, 0, setup_unstarted, start_all, 0, started_once },
    { "start_3", 3, 0, setup_unstarted, start_all, 0, started_once },
    { "start_failing", 3, 0, setup_failing, start_all, 0, started_once },
    { "live_2", 2, 0, setup, live, 0, heaps_in_peace },
    { "live_seen", 3, 0, setup, live_seen, 0, heaps_seen },
    { "live_3", 3, 0, setup, live, 0, heaps_in_peace },
    { "fork_both", 2, 0, setup, fork_both, 0, all_free },
    { "fork_one", 3, 0, setup, fork_one, 0, all_free },
    { "fork_twice", 2, 0, setup, fork_twice, 0, all_free },
    { "fork_to_child", 3, 0, setup, fork_to_child, 0, all_free },
    { "handler_large", 3, 0, setup, handler_large, 0, all_free },
    { "handlers_exchanged", 2, 0, setup, handlers_exchanged, 0, all_free },
    { "child_of_handler", 2, 0, setup, child_of_handler, 0, all_free },
    { 0 },
};
const struct explored *const cases = all;
