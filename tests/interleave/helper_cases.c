/* The helper of background "refill" (runtime/heap/8_threads/background/refill.c): no call is lost. The last thread is
 * the helper that the first call makes, the others miss. A nap ends at any moment, and with it the helper. */
#include "explore.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <unistd.h>

#include "2_system/lock.h"
#include "2_system/over_fork.h"
#include "4_blocks/classifier/classifier.h"
#include "6_slabs/take.h"
#include "6_slabs/transfer/transfer.h"

enum { FULL = 1 };

static uint64_t kept, made; /* batches of the class, which change under the lock; helpers */
static struct lock cache;
static __thread int of_nap;

static uint32_t kept_now(void)
{
    return (uint32_t)__atomic_load_n(&kept, __ATOMIC_RELAXED);
}

static void keep(uint64_t batches)
{
    __atomic_store_n(&kept, batches, __ATOMIC_RELAXED);
}

static bool add_batch(void)
{
    keep(kept_now() + 1);
    return true;
}

/* No sleep waits for its wake: calls come before its end, or after it. */
static long end_nap(void)
{
    sched_yield();
    of_nap = ETIMEDOUT;
    return -1;
}

static int make(void *(*thread)(void *))
{
    (void)thread;
    __atomic_fetch_add(&made, 1, __ATOMIC_RELEASE);
    return 0;
}

const struct class_plan hs_class[CLASS_COUNT] = { { .flush = 1 } };
struct heap hs_no_heap;
struct heap_count hs_count;

/* What the real source asks of the rest of the runtime and of the system; one class. */
#define CLASS_COUNT 1
#undef errno
#define errno of_nap
#define syscall(number, word, operation, ...) ((operation) == FUTEX_WAIT_HERE ? end_nap() : 1)
#define pthread_create(thread, attributes, begins, with) make(begins)
#define pthread_attr_init(...) ((void)0)
#define pthread_attr_setdetachstate(...) ((void)0)
#define pthread_attr_setstacksize(...) ((void)0)
#define pthread_attr_destroy(...) ((void)0)
#define pthread_sigmask(...) ((void)0)
#define hs_register(handlers, object) ((void)(handlers)->in_child)
#define sigfillset(...) ((void)0)
#define shard_lock_transfer(shard) lock_acquire(&cache)
#define shard_unlock_transfer(shard) lock_release(&cache)
#define transfer_caches(class) true
#define transfer_kept(class) kept_now()
#define transfer_idles(class) false
#define transfer_place(class) NULL
#define transfer_add(heap, class, taken) add_batch()
#define take(...) 1
#define classifier_mark(...) ((void)0)
#define constructor unused /* nothing starts before main */
#include "8_threads/background/refill.c"
#undef constructor
#undef errno

const uint32_t hs_background_low[1] = { FULL }, hs_background_full[1] = { FULL };

static void setup(void)
{
    share("helper", &helper, sizeof helper);
    share("is_wanted", is_wanted, sizeof is_wanted);
    share("stepping", &stepping, sizeof stepping);
    share("cache", &cache, sizeof cache);
    share("kept", &kept, sizeof kept);
    share("made", &made, sizeof made);
    share("forgets", &forgets, sizeof forgets);
    share("steps", &hs_count.background_steps, sizeof hs_count.background_steps);
    share("blocks", &hs_count.background_blocks, sizeof hs_count.background_blocks);
    helper = NONE;
    kept = FULL;
}

static void miss(void)
{
    lock_acquire(&cache);
    if (kept_now() > 0)
        keep(kept_now() - 1);
    lock_release(&cache);
    background_front_missed(&hs_no_heap, 0);
}

static void help_once(void)
{
    while (__atomic_load_n(&made, __ATOMIC_ACQUIRE) == 0)
        sched_yield();
    help(NULL);
}

static void miss_twice(int thread)
{
    if (thread == 1) {
        help_once();
    } else {
        miss();
        miss();
    }
}

static void both_miss(int thread)
{
    if (thread == 2)
        help_once();
    else
        miss();
}

/* There are as many batches as there should be, or a second helper is about to look. Outcome: how many were made. */
static uint64_t nothing_lost(void)
{
    expect(helper == NONE || (helper == CALLED && made > 1), "a call waits for a helper that does not come");
    expect(kept == FULL || helper == CALLED, "a call is lost");
    expect(stepping.word == 0 && cache.word == 0, "a lock is left taken");
    return made;
}

static const struct explored all[] = {
    { "helper_2", 2, 0, setup, miss_twice, 0, nothing_lost },
    { "helper_3", 3, 0, setup, both_miss, 0, nothing_lost },
    { 0 },
};
const struct explored *const cases = all;
