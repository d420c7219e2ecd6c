/* Known answers: what C11 (RC11; with `early` load buffering too) allows small programs, and mistakes that must be reported. */
#include "explore.h"

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { RELAXED = __ATOMIC_RELAXED, ACQUIRE = __ATOMIC_ACQUIRE, RELEASE = __ATOMIC_RELEASE };

static uint64_t x, y, data;
static uint64_t result[THREADS]; /* each thread its own */

static void share_all(void)
{
    share("x", &x, sizeof x);
    share("y", &y, sizeof y);
    share("data", &data, sizeof data);
    share("result", result, sizeof result);
}

static void set(uint64_t *word, uint64_t value, int order)
{
    if (order == RELEASE)
        __atomic_store_n(word, value, __ATOMIC_RELEASE);
    else
        __atomic_store_n(word, value, __ATOMIC_RELAXED);
}

static uint64_t get(const uint64_t *word, int order)
{
    return order == ACQUIRE ? __atomic_load_n(word, __ATOMIC_ACQUIRE) : __atomic_load_n(word, __ATOMIC_RELAXED);
}

/* result[i] in two bits each */
static uint64_t results(void)
{
    return result[0] | result[1] << 2 | result[2] << 4;
}

/* Store buffering: both may read 0. */
static void store_buffering(int thread)
{
    set(thread ? &y : &x, 1, RELAXED);
    result[thread] = get(thread ? &x : &y, RELAXED);
}

static void fence(bool really)
{
    if (really)
        __atomic_thread_fence(__ATOMIC_SEQ_CST);
}

/* With a fence in both at least one reads 1; one alone changes nothing. */
static void store_buffering_fences(int thread, bool both)
{
    set(thread ? &y : &x, 1, RELAXED);
    fence(both || thread == 0);
    result[thread] = get(thread ? &x : &y, RELAXED);
}

static void store_buffering_fenced(int thread) { store_buffering_fences(thread, true); }
static void store_buffering_one_fence(int thread) { store_buffering_fences(thread, false); }

static void load_buffering_fenced(int thread)
{
    result[thread] = get(thread ? &x : &y, RELAXED);
    fence(true);
    set(thread ? &y : &x, 1, RELAXED);
}

/* Load buffering: one of them reads 0, and with `early` both may read 1. */
static void load_buffering(int thread)
{
    result[thread] = get(thread ? &x : &y, RELAXED);
    set(thread ? &y : &x, 1, RELAXED);
}

/* No store with release comes before the load. */
static void load_buffering_release(int thread)
{
    result[thread] = get(thread ? &x : &y, RELAXED);
    set(thread ? &y : &x, 1, RELEASE);
}

/* Each hands on what it read: only 0 was ever there. */
static void thin_air(int thread)
{
    result[thread] = get(thread ? &x : &y, RELAXED);
    set(thread ? &y : &x, result[thread], RELAXED);
}

/* The other's store says 1 whatever was read: both may read 1. */
static void load_buffering_branch(int thread)
{
    result[thread] = get(thread ? &x : &y, RELAXED);
    if (thread == 0 && result[0] == 1)
        set(&x, 1, RELAXED);
    else
        set(thread ? &y : &x, 1, RELAXED);
}

/* Two stores to each of two words: one of the orders that C11 allows is not in RC11's model without `early` (x == y == 1). */
static void two_plus_two(int thread)
{
    set(thread ? &y : &x, 1, RELAXED);
    set(thread ? &x : &y, 2, RELAXED);
}

static void two_plus_two_fenced(int thread)
{
    set(thread ? &y : &x, 1, RELAXED);
    fence(true);
    set(thread ? &x : &y, 2, RELAXED);
}

static uint64_t final_words(void)
{
    return x | y << 2;
}

/* Message passing: result[1] has the flag in bit 0 and the data in bit 1. */
static void pass(int thread, int release, int acquire)
{
    if (thread == 0) {
        set(&x, 1, RELAXED);
        set(&y, 1, release);
    } else {
        uint64_t flag = get(&y, acquire);
        result[1] = flag | get(&x, RELAXED) << 1;
    }
}

static void pass_relaxed(int thread) { pass(thread, RELAXED, RELAXED); }
static void pass_release_only(int thread) { pass(thread, RELEASE, RELAXED); }
static void pass_acquire_only(int thread) { pass(thread, RELAXED, ACQUIRE); }
static void pass_ordered(int thread) { pass(thread, RELEASE, ACQUIRE); }

static void pass_fenced(int thread)
{
    if (thread == 0) {
        set(&x, 1, RELAXED);
        fence(true);
        set(&y, 1, RELAXED);
    } else {
        uint64_t flag = get(&y, RELAXED);
        fence(true);
        result[1] = flag | get(&x, RELAXED) << 1;
    }
}

static void pass_plain(int thread, int release, int acquire)
{
    if (thread == 0) {
        data = 1;
        set(&y, 1, release);
    } else if (get(&y, acquire) == 1) {
        result[1] = 1 + data;
    }
}

static void plain_ordered(int thread) { pass_plain(thread, RELEASE, ACQUIRE); }
static void plain_no_release(int thread) { pass_plain(thread, RELAXED, ACQUIRE); }
static void plain_no_acquire(int thread) { pass_plain(thread, RELEASE, RELAXED); }

/* A read before the hand-over, a write after it. */
static void read_then_write(int thread)
{
    if (thread == 0) {
        result[0] = data;
        set(&y, 1, RELAXED);
    } else if (get(&y, ACQUIRE) == 1) {
        data = 1;
    }
}

/* A release sequence goes on through a relaxed read-modify-write, not through a store. */
static void sequence(int thread, bool modifies)
{
    if (thread == 0) {
        data = 1;
        set(&y, 1, RELEASE);
    } else if (thread == 1) {
        if (modifies)
            __atomic_fetch_add(&y, 2, __ATOMIC_RELAXED);
        else if (get(&y, RELAXED) == 1)
            set(&y, 3, RELAXED);
    } else if (get(&y, ACQUIRE) == 3) {
        result[2] = 1 + data;
    }
}

static void release_sequence(int thread) { sequence(thread, true); }
static void broken_sequence(int thread) { sequence(thread, false); }

/* Coherence: a word does not go back, for one reader and for two in a row. */
static void read_twice(int thread)
{
    if (thread == 0) {
        set(&x, 1, RELAXED);
    } else {
        uint64_t first = get(&x, RELAXED);
        result[1] = first | get(&x, RELAXED) << 1;
    }
}

static void read_in_turn(int thread)
{
    if (thread == 0) {
        set(&x, 1, RELAXED);
    } else if (thread == 1) {
        result[1] = get(&x, RELAXED);
        set(&y, 1, RELEASE);
    } else if (get(&y, ACQUIRE) == 1) {
        result[2] = 1 + get(&x, RELAXED);
    }
}

static void swap_weak(int thread)
{
    uint64_t zero = 0;
    result[thread] = __atomic_compare_exchange_n(&x, &zero, 1, true, __ATOMIC_RELAXED, __ATOMIC_RELAXED);
}

static void swap_strong(int thread)
{
    uint64_t zero = 0;
    result[thread] = __atomic_compare_exchange_n(&x, &zero, 1, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED);
}

/* Three steps a thread that know nothing of each other: (3 + 3)! / (3! 3!) and (2 + 2 + 2)! / (2! 2! 2!) ways. */
static void three_adds(int thread)
{
    for (int step = 0; step < 3; step++)
        __atomic_fetch_add(thread ? &y : &x, 1, __ATOMIC_RELAXED);
}

static void two_adds(int thread)
{
    for (int step = 0; step < 2; step++)
        __atomic_fetch_add(thread == 0 ? &x : thread == 1 ? &y : &data, 1, __ATOMIC_RELAXED);
}

static void sleeps(int thread)
{
    if (thread == 0)
        syscall(SYS_futex, &x, FUTEX_WAIT, 0, 0, 0, 0);
    else
        set(&x, 1, RELAXED);
}

static void spins(int thread)
{
    while (thread == 0 && get(&x, RELAXED) == 0)
        ;
}

static void strays(int thread)
{
    static uint64_t own[THREADS];
    own[thread] = 1;
    __asm__ volatile("" : : "r"(own) : "memory");
}

static const struct explored all[] = {
    { "store_buffering", 2, 0, share_all, store_buffering, 0, results },
    { "store_buffering_fenced", 2, 0, share_all, store_buffering_fenced, 0, results },
    { "store_buffering_one_fence", 2, 0, share_all, store_buffering_one_fence, 0, results },
    { "load_buffering_fenced", 2, 0, share_all, load_buffering_fenced, 0, results },
    { "two_plus_two_fenced", 2, 0, share_all, two_plus_two_fenced, 0, final_words },
    { "pass_fenced", 2, 0, share_all, pass_fenced, 0, results },
    { "load_buffering", 2, 0, share_all, load_buffering, 0, results },
    { "load_buffering_release", 2, 0, share_all, load_buffering_release, 0, results },
    { "load_buffering_branch", 2, 0, share_all, load_buffering_branch, 0, results },
    { "thin_air", 2, 0, share_all, thin_air, 0, results },
    { "two_plus_two", 2, 0, share_all, two_plus_two, 0, final_words },
    { "pass_relaxed", 2, 0, share_all, pass_relaxed, 0, results },
    { "pass_release_only", 2, 0, share_all, pass_release_only, 0, results },
    { "pass_acquire_only", 2, 0, share_all, pass_acquire_only, 0, results },
    { "pass_ordered", 2, 0, share_all, pass_ordered, 0, results },
    { "plain_ordered", 2, 0, share_all, plain_ordered, 0, results },
    { "plain_no_release", 2, 0, share_all, plain_no_release, 0, results },
    { "plain_no_acquire", 2, 0, share_all, plain_no_acquire, 0, results },
    { "read_then_write", 2, 0, share_all, read_then_write, 0, results },
    { "release_sequence", 3, 0, share_all, release_sequence, 0, results },
    { "broken_sequence", 3, 0, share_all, broken_sequence, 0, results },
    { "read_twice", 2, 0, share_all, read_twice, 0, results },
    { "read_in_turn", 3, 0, share_all, read_in_turn, 0, results },
    { "swap_weak", 1, 0, share_all, swap_weak, 0, results },
    { "swap_strong", 2, 0, share_all, swap_strong, 0, results },
    { "three_adds", 2, 0, share_all, three_adds, 0, 0 },
    { "two_adds", 3, 0, share_all, two_adds, 0, 0 },
    { "sleeps", 2, 0, share_all, sleeps, 0, 0 },
    { "spins", 2, 0, share_all, spins, 0, 0 },
    { "strays", 2, 0, share_all, strays, 0, 0 },
    { 0 },
};
const struct explored *const cases = all;
