/* The life of heaps: started at a thread's first allocation, drained and abandoned at its exit; fork; the pool lock. */
#include "heap.h"
#include "os.h"

#include <errno.h>
#include <pthread.h>

__thread struct heap *hs_self = &hs_no_heap;
__thread bool hs_forking;

static pthread_mutex_t pool_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_once_t started = PTHREAD_ONCE_INIT;
static bool usable;
static pthread_key_t exit_key; /* its destructor runs at thread exit */
static struct heap *abandoned; /* LIFO, under the pool lock */
static struct heap *newest;    /* every heap ever created, under the pool lock */

void hs_lock_pool(void)
{
    if (!hs_forking)
        pthread_mutex_lock(&pool_lock);
}

void hs_unlock_pool(void)
{
    if (!hs_forking)
        pthread_mutex_unlock(&pool_lock);
}

static void abandon(void *with)
{
    struct heap *heap = with;
    remote_drain(heap);
    for (unsigned class = 0; class < CLASS_COUNT; class++)
        if (hs_class[class].drain != NULL)
            hs_class[class].drain(heap, class);
    hs_self = &hs_no_heap;
    hs_lock_pool();
    heap->next = abandoned;
    abandoned = heap;
    hs_unlock_pool();
}

static void start(void)
{
    size_t span_limit = os_address_space() / 4; /* of each span: the tables and the program need some too */
    usable = hs_store_init(span_limit) && hs_large_init(span_limit) && pthread_key_create(&exit_key, abandon) == 0;
}

bool hs_started(void)
{
    pthread_once(&started, start);
    return usable;
}

static struct heap *adopt_or_create(void)
{
    struct heap *heap = abandoned;
    if (heap != NULL) {
        abandoned = heap->next;
        hs_count.adoptions++;
        return heap;
    }
    heap = os_map(sizeof *heap + SLOT_COUNT * sizeof heap->slot[0], 1);
    if (heap == NULL)
        return NULL;
    heap->older = newest;
    newest = heap;
    hs_count.heaps++;
    return heap;
}

struct heap *hs_heap_start(void)
{
    int saved = errno;
    struct heap *heap = NULL;
    if (hs_started()) {
        hs_lock_pool();
        heap = adopt_or_create();
        hs_unlock_pool();
    }
    if (heap == NULL) {
        errno = ENOMEM;
        return NULL;
    }
    hs_self = heap;
    pthread_setspecific(exit_key, heap);
    errno = saved;
    return heap;
}

void hs_visit_heaps(void (*visit)(struct heap *heap, void *with), void *with)
{
    visit(&hs_no_heap, with);
    for (struct heap *heap = newest; heap != NULL; heap = heap->older)
        visit(heap, with);
}

/* Other libraries' fork handlers may run between ours and allocate: this thread holds both locks until after_fork. */
static void before_fork(void)
{
    hs_lock_pool();
    hs_large_lock();
    hs_forking = true;
}

static void after_fork(void)
{
    hs_forking = false;
    hs_large_unlock();
    hs_unlock_pool();
}

/* Not inside start(): pthread_atfork may allocate. */
__attribute__((constructor)) static void register_fork(void)
{
    pthread_atfork(before_fork, after_fork, after_fork);
}

void hs_forget_heaps(void)
{
    for (struct heap *heap = newest, *older; heap != NULL; heap = older) {
        older = heap->older;
        os_unmap(heap, sizeof *heap + SLOT_COUNT * sizeof heap->slot[0]);
    }
    newest = abandoned = NULL;
    hs_self = &hs_no_heap;
    if (usable)
        pthread_setspecific(exit_key, NULL);
}
