/* Background "refill": a helper thread tops up the transfer cache of the classes that are wanted (docs/machine-rooms.md).
 *
 * Protocol. The word `helper` is one of:
 * - OFF: no helper, now and later. The library is not loaded yet, or who performs events does the helper's steps too
 *   (heapsmith_background), or the checked build looks at the whole heap.
 * - NONE: no thread, or one that ends; the next call makes one. CALLED: a step is due, for ever where no thread can be
 *   made. BUSY: the thread looks for what to do. ASLEEP: it waits on the word. Its nap ends after NAP_NS without a call,
 *   and with it the thread: a process whose other threads have all ended must end too.
 *
 * A call is a swap to CALLED with release, whatever the word was but OFF, behind the store to `is_wanted`. The thread swaps
 * CALLED for BUSY with acquire and then looks, so it sees what was wanted; and BUSY for ASLEEP only if nobody has called
 * since. Who finds its class wanted already does not call: the thread takes `is_wanted` away before it looks at the batches.
 *
 * The thread is made at the end of a refill: its heap is whole then and no lock is held, for pthread_create allocates. A
 * fork's child has no helper until a class is wanted there. */
#include "8_threads/background/refill.h"

#include "2_system/futex.h"
#include "2_system/lock.h"
#include "2_system/over_fork.h"
#include "4_blocks/classifier/classifier.h"
#include "6_slabs/take.h"
#include "6_slabs/transfer/transfer.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum { OFF, NONE, CALLED, BUSY, ASLEEP };
enum { HELPER_STACK_BYTES = 1 << 18, NAP_NS = 100000000 };

static uint32_t helper;
static uint32_t is_wanted[CLASS_COUNT]; /* 1: a miss has left too few batches since the helper looked */
static struct lock stepping; /* held over a step */
static bool forgets; /* the handler of fork is registered */

extern const uint32_t hs_background_low[CLASS_COUNT];
extern const uint32_t hs_background_full[CLASS_COUNT];

/* Under the lock: if there are too few, a batch of the store's blocks, which comes out in the order in which the store took
 * them. Might there be another? The heap of no thread counts what is taken. */
static bool add(unsigned class)
{
    if (transfer_kept(class) >= hs_background_full[class] || transfer_idles(class))
        return false;
    void **batch = transfer_place(class);
    uint32_t taken = take(&hs_no_heap, class, batch, hs_class[class].flush);
    classifier_mark(batch, taken, class);
    count_own(&hs_count.background_blocks, taken);
    return transfer_add(&hs_no_heap, class, taken);
}

/* The lock is free between two batches: who waits for it waits for one. */
static void top_up(unsigned class)
{
    bool more = true;
    while (more) {
        shard_lock_transfer(0);
        count_locks(LOCKS_BACKGROUND);
        more = add(class);
        shard_unlock_transfer(0);
    }
}

static bool is_low(unsigned class)
{
    return transfer_caches(class) && transfer_kept(class) < hs_background_low[class];
}

static void step(void)
{
    bool found = false;
    for (unsigned class = 0; class < CLASS_COUNT; class++) {
        if (word_look(&is_wanted[class]) == 0)
            continue;
        __atomic_exchange_n(&is_wanted[class], 0, __ATOMIC_ACQUIRE);
        top_up(class);
        found = true;
    }
    if (found)
        count_shared(&hs_count.background_steps, 1);
}

static bool becomes(uint32_t from, uint32_t to)
{
    return __atomic_compare_exchange_n(&helper, &from, to, false, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED);
}

static int futex_on_helper(int operation, uint32_t value, const struct timespec *nap)
{
    count_system(COUNT_FUTEX);
    return (int)syscall(SYS_futex, &helper, operation, value, nap, NULL, 0);
}

static void take_nap(void)
{
    const struct timespec nap = { .tv_nsec = NAP_NS };
    while (word_look(&helper) == ASLEEP)
        if (futex_on_helper(FUTEX_WAIT_HERE, ASLEEP, &nap) != 0 && errno == ETIMEDOUT)
            becomes(ASLEEP, NONE);
}

static void *help(void *unused)
{
    while (becomes(CALLED, BUSY)) {
        lock_acquire(&stepping);
        count_locks(LOCKS_OTHER);
        if (word_look(&helper) != OFF)
            step();
        lock_release(&stepping);
        if (becomes(BUSY, ASLEEP))
            take_nap();
    }
    return unused;
}

static void forget_helper(void)
{
    lock_forget(&stepping);
    background_reset();
    if (word_look(&helper) != OFF)
        word_set(&helper, NONE);
}

/* With all signals blocked: the program's handlers run in the program's threads. */
static void make_helper(void)
{
    int saved = errno;
    sigset_t all, before;
    pthread_attr_t attributes;
    pthread_t thread;
    if (!__atomic_exchange_n(&forgets, true, __ATOMIC_RELAXED))
        hs_register(&(struct fork_handlers){ .in_child = forget_helper }, NULL);
    sigfillset(&all);
    pthread_attr_init(&attributes);
    pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
    pthread_attr_setstacksize(&attributes, HELPER_STACK_BYTES);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    pthread_create(&thread, &attributes, help, NULL);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    pthread_attr_destroy(&attributes);
    errno = saved;
}

static void call(void)
{
    uint32_t was = word_look(&helper);
    do {
        if (was == OFF)
            return;
    } while (!__atomic_compare_exchange_n(&helper, &was, CALLED, false, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED));
    if (was == NONE)
        make_helper();
    if (was == ASLEEP) {
        int saved = errno;
        futex_on_helper(FUTEX_WAKE_HERE, 1, NULL);
        errno = saved;
    }
}

void background_front_missed(struct heap *heap, unsigned class)
{
    if (!is_low(class) || word_look(&is_wanted[class]) != 0)
        return;
    word_set(&is_wanted[class], 1);
    call();
}

void background_inspection(void)
{
    __atomic_store_n(&helper, OFF, __ATOMIC_RELEASE);
    lock_acquire(&stepping);
    count_locks(LOCKS_OTHER);
    lock_release(&stepping);
}

void background_reset(void)
{
    for (unsigned class = 0; class < CLASS_COUNT; class++)
        word_set(&is_wanted[class], 0);
}

/* For who performs events in one order: the steps of the helper that are due when `events` have been performed since the
 * heap was new. From the first call on, before the first event, no thread does them. */
__attribute__((visibility("default"))) void heapsmith_background(uint64_t events);
void heapsmith_background(uint64_t events)
{
    if (word_look(&helper) != OFF)
        background_inspection();
    if (events > 0 && events % BACKGROUND_EVERY == 0)
        step();
}

__attribute__((constructor)) static void load(void)
{
    word_set(&helper, NONE);
}
