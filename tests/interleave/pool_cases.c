/* Pools and superslabs without a lock (runtime/heap/5_slab_policies/pool): slabs that change hands, and slabs that are claimed. */
#include "explore.h"
#include "2_system/lock.h"
#include "5_slab_policies/pool/pool.h"

enum { IN_SUPERSLAB = SUPERSLAB_BYTES / SLAB_BYTES, LAST = IN_SUPERSLAB - 1, USED = 3, SERVED = 7 };

static struct slab slabs[2 * IN_SUPERSLAB];
static struct lock pool_lock;
static struct slab *newest;
static struct slab *held[THREADS]; /* by each thread at its end */
static uint64_t mappings;

/* What the real sources need of the rest of the runtime. */
uintptr_t hs_span;
size_t hs_span_bytes;
struct slab *hs_slabs = slabs;
struct heap_count hs_count;
struct vacancy hs_vacancy[CLASS_COUNT];
struct heap hs_no_heap;

void hs_lock_pool(void)
{
    lock_acquire(&pool_lock);
}

void hs_unlock_pool(void)
{
    lock_release(&pool_lock);
}

static void share_slab(const char *name, struct slab *slab)
{
    share(name, slab, sizeof *slab);
}

static void share_all(void)
{
    share("pool", &hs_vacancy[0].pool, sizeof(union pool));
    share("superslab", &hs_vacancy[0].superslab, sizeof(struct superslab));
    share("held", held, sizeof held);
    share("slabs", &hs_slabs, sizeof hs_slabs);
}

/* Slab 0 is on top, slab 1 below, slab 2 in a thread's hands. */
static void setup_pool(void)
{
    share_all();
    share_slab("slab 0", &slabs[0]);
    share_slab("slab 1", &slabs[1]);
    share_slab("slab 2", &slabs[2]);
    hs_vacancy[0].pool.word = pool_word(0, &slabs[0]);
    slabs[0].older = &slabs[1];
}

/* Whoever has a slab writes to it: two threads that have the same slab race. */
static struct slab *pop(void)
{
    struct slab *slab = pool_pop(&hs_no_heap, 0);
    if (slab != NULL)
        slab->carved++;
    return slab;
}

static void push(struct slab *slab)
{
    slab->carved++;
    pool_push(&hs_no_heap, slab);
}

/* Thread 0 takes both slabs and gives the first back: a pop that saw it on top before must not bring the second. */
static void pop_pop_push(int thread)
{
    if (thread == 0) {
        struct slab *first = pop();
        held[0] = pop();
        if (first != NULL)
            push(first);
    } else {
        held[thread] = pop();
    }
}

static void push_and_pop(int thread)
{
    if (thread == 0)
        push(&slabs[2]);
    else
        held[thread] = pop();
}

static size_t touched(struct slab *slab)
{
    slab->carved++;
    return 1;
}

/* One thread looks at all slabs of the pool while others pop and push. */
static void act(int thread)
{
    if (thread == 0)
        pool_act(touched, 2, NULL);
    else if (thread == 1)
        held[1] = pop();
    else
        push(&slabs[2]);
}

static uint64_t times(const struct slab *slab)
{
    uint64_t found = 0;
    for (int thread = 0; thread < THREADS; thread++)
        found += held[thread] == slab;
    for (const struct slab *one = pool_top(hs_vacancy[0].pool.word); one != NULL; one = one->older)
        found += one == slab;
    return found;
}

/* Outcome: how many slabs the threads hold. */
static uint64_t no_slab_lost(void)
{
    uint64_t outcome = 0;
    for (int number = 0; number < 2; number++)
        expect(times(&slabs[number]) == 1, "a slab is lost, or two have it");
    expect(times(&slabs[2]) <= 1, "two have a slab");
    for (int thread = 0; thread < THREADS; thread++)
        outcome += held[thread] != NULL;
    return outcome;
}

/* One slab of the superslab is left; the next superslab has all it needs. */
static void setup_superslab(void)
{
    static char names[USED][16] = { "slab 0", "slab 1", "slab 2" };
    share_all();
    share("lock", &pool_lock, sizeof pool_lock);
    share("newest", &newest, sizeof newest);
    share("mappings", &mappings, sizeof mappings);
    share("count", &hs_count.slabs, sizeof hs_count.slabs);
    for (int number = 0; number < USED; number++)
        share_slab(names[number], &slabs[LAST + number]);
    hs_vacancy[0].superslab = (struct superslab){ 1 + (size_t)LAST * SLAB_BYTES, SUPERSLAB_BYTES };
    slabs[LAST].committed = SERVED;
}

/* As slabs.c: next_slab. */
static void claim(int thread)
{
    struct superslab *superslab = &hs_vacancy[0].superslab;
    struct slab *slab = superslab_claim(superslab, &newest);
    if (slab == NULL) {
        pool_enter_map();
        while ((slab = superslab_claim(superslab, &newest)) == NULL) {
            mappings++;
            for (int number = 1; number < USED; number++)
                slabs[LAST + number].committed = SERVED;
            superslab_open(superslab, SUPERSLAB_BYTES, 2 * (size_t)SUPERSLAB_BYTES);
        }
        pool_leave_map();
    }
    expect(slab->committed == SERVED, "a slab of a superslab that is not ready");
    slab->carved++;
    held[thread] = slab;
}

/* A thread looks at all slabs, as slabs.c: slabs_census. */
static void claim_and_walk(int thread)
{
    if (thread < 2) {
        claim(thread);
        return;
    }
    hs_lock_pool();
    for (const struct slab *slab = __atomic_load_n(&newest, __ATOMIC_ACQUIRE); slab != NULL; slab = slab->earlier)
        expect(slab >= &slabs[LAST] && slab < &slabs[LAST + USED], "the list leads elsewhere");
    hs_unlock_pool();
}

/* A thread writes to the slabs that are left, as slabs_back.c: seal_rest. */
static void claim_and_close(int thread)
{
    if (thread < 2) {
        claim(thread);
        return;
    }
    struct superslab *superslab = &hs_vacancy[0].superslab;
    hs_lock_pool();
    size_t next = superslab_close(superslab), end = superslab->end;
    if (next < end) {
        slabs[next / SLAB_BYTES].carved++;
        superslab_open(superslab, next, end);
    }
    hs_unlock_pool();
}

static uint64_t each_has_one(void)
{
    uint64_t listed = 0;
    for (const struct slab *slab = newest; slab != NULL; slab = slab->earlier)
        listed++;
    for (int thread = 0; thread < THREADS; thread++)
        for (int other = 0; other < thread; other++)
            expect(held[thread] == NULL || held[thread] != held[other], "two have a slab");
    expect(listed == hs_count.slabs, "the list of slabs is not whole");
    return mappings << 4 | listed;
}

static const struct explored all[] = {
    { "swap_2", 2, 0, setup_pool, pop_pop_push, 0, no_slab_lost },
    { "swap_3", 3, 0, setup_pool, pop_pop_push, 0, no_slab_lost },
    { "swap_push", 3, 0, setup_pool, push_and_pop, 0, no_slab_lost },
    { "swap_all", 3, 0, setup_pool, act, 0, no_slab_lost },
    { "claim_2", 2, 0, setup_superslab, claim, 0, each_has_one },
    { "claim_3", 3, 0, setup_superslab, claim, 0, each_has_one },
    { "claim_walk", 3, 0, setup_superslab, claim_and_walk, 0, each_has_one },
    { "claim_close", 3, 0, setup_superslab, claim_and_close, 0, each_has_one },
    { 0 },
};
const struct explored *const cases = all;
