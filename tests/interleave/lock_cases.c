/* The lock (runtime/heap/2_system/lock.h, lock.c): mutual exclusion, no lost wake-up, and lock_mine true for the holder alone, always. */
#include "explore.h"
#include "2_system/lock.h"

static struct lock lock;
static uint64_t protected; /* under the lock */
static uint64_t inside[THREADS]; /* 1: between the return of acquire and the call of release; each thread's own */
static uint64_t called[THREADS]; /* 1: between the call of acquire and the return of release */
static uint64_t rounds;

static void share_all(void)
{
    share("lock", &lock, sizeof lock);
    share("protected", &protected, sizeof protected);
    share("inside", inside, sizeof inside);
    share("called", called, sizeof called);
    share("rounds", &rounds, sizeof rounds);
}

static void setup_one(void)
{
    share_all();
    rounds = 1;
}

static void setup_two(void)
{
    share_all();
    rounds = 2;
}

static void section(int thread)
{
    inside[thread] = 1;
    expect(lock_mine(&lock), "lock_mine is false for the holder");
    protected++;
    inside[thread] = 0;
}

static void acquiring(int thread)
{
    for (uint64_t round = 0; round < rounds; round++) {
        called[thread] = 1;
        lock_acquire(&lock);
        section(thread);
        lock_release(&lock);
        called[thread] = 0;
    }
}

/* The first thread only tries: it may fail, but not twice when nobody else comes any more. */
static void trying(int thread)
{
    if (thread > 0) {
        acquiring(thread);
    } else if (lock_try(&lock)) {
        called[thread] = 1;
        expect(!lock_try(&lock), "a holder takes its lock once more");
        section(thread);
        lock_release(&lock);
        called[thread] = 0;
    }
}

/* What a signal handler in each thread would be told now, whatever value its load returns. */
static void mine_is_certain(void)
{
    int holders = 0;
    for (int thread = 0; thread < THREADS; thread++) {
        int answers = 0, count = views(thread, &lock, sizeof lock);
        for (int view = 0; view < count; view++) {
            look_as(thread, view);
            answers += lock_mine(&lock);
        }
        expect(answers == 0 || answers == count, "lock_mine depends on how old a value it reads");
        expect(!inside[thread] || answers > 0, "lock_mine is false for the holder");
        expect(called[thread] || answers == 0, "lock_mine is true for a thread that has released");
        holders += answers > 0;
    }
    expect(holders <= 1, "lock_mine is true for two threads");
    expect(inside[0] + inside[1] + inside[2] <= 1, "two threads are inside");
}

static uint64_t all_done(void)
{
    expect(lock.word == 0, "the lock is left taken");
    return protected;
}

static const struct explored all[] = {
    { "lock_2x1", 2, 1, setup_one, acquiring, mine_is_certain, all_done },
    { "lock_2x2", 2, 1, setup_two, acquiring, mine_is_certain, all_done },
    { "lock_3x1", 3, 1, setup_one, acquiring, mine_is_certain, all_done },
    { "lock_3x2", 3, 0, setup_two, acquiring, mine_is_certain, all_done },
    { "lock_try_2x1", 2, 1, setup_one, trying, mine_is_certain, all_done },
    { "lock_try_3x1", 3, 0, setup_one, trying, mine_is_certain, all_done },
    { 0 },
};
const struct explored *const cases = all;
