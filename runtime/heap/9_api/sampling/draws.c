/* When a request is a sample, and the block of one. Integers alone: the model draws the same. */
#include "9_api/sampling/draws.h"

#include "2_system/counters.h"
#include "3_records/segregation/segregation.h"
#include "7_large/huge.h"
#include "7_large/runs.h"
#include "8_threads/large.h"
#include "8_threads/life.h"

#include <errno.h>
#include <sys/syscall.h>
#include <unistd.h>

enum {
    DRAWN_BITS = 26,    /* of each draw: an interval is at most 18 times the mean */
    LOG_BITS = 20,      /* behind the point of a logarithm */
    ONE_BITS = 30,      /* behind the point of what its logarithm is taken of */
    LN2_BITS = 24,
    LN2 = 11629080,     /* ln 2, rounded */
};

__thread uint64_t hs_until_sample;
uint64_t hs_huge_samples;

/* The thread's generator: xoroshiro64** of D. Blackman and S. Vigna (2018). draws: the countdown is an interval that was drawn. */
static __thread struct {
    uint32_t low, high;
    uint64_t mean; /* of the interval drawn last: with another one it is drawn anew */
    bool seeded, draws;
    bool is_asked; /* it is the thread `asked` */
    uint32_t asked;
} sampler;
static uint32_t sampling_threads; /* that drew */
uint64_t hs_sample_mean = SAMPLE_ON ? SAMPLE_MEAN : 0;
uint32_t hs_sample_thread;

/* The answer is kept: a child of fork is whom its parent's thread was, if that had asked. */
bool sampling_is_mine(uint32_t thread)
{
    if (sampler.asked != thread) {
        sampler.is_asked = (uint32_t)syscall(SYS_gettid) == thread;
        sampler.asked = thread;
    }
    return sampler.is_asked;
}

uint64_t hs_sampling_mean(void)
{
    return sampling_mean();
}

/* The last steps of A. Appleby's MurmurHash3: each bit of x changes about half of the result's. */
static uint32_t mixed(uint32_t x)
{
    x = (x ^ x >> 16) * 0x85ebca6b;
    x = (x ^ x >> 13) * 0xc2b2ae35;
    return x ^ x >> 16;
}

static uint32_t turned(uint32_t x, int by)
{
    return x << by | x >> (32 - by);
}

static void sample_seed(void)
{
    uint32_t ordinal = __atomic_fetch_add(&sampling_threads, 1, __ATOMIC_RELAXED);
    sampler.low = mixed(SAMPLE_SEED ^ mixed(2 * ordinal + 1));
    sampler.high = mixed(sampler.low + 2 * ordinal + 2) | 1; /* not both zero */
    sampler.seeded = true;
}

/* 1 to 2^DRAWN_BITS, each as likely. */
static uint32_t sample_drawn(void)
{
    uint32_t result = turned(sampler.low * 0x9e3779bb, 5) * 5;
    sampler.high ^= sampler.low;
    sampler.low = turned(sampler.low, 26) ^ sampler.high ^ sampler.high << 9;
    sampler.high = turned(sampler.high, 13);
    return (result >> (32 - DRAWN_BITS)) + 1;
}

/* The binary logarithm, rounded down: bit by bit, since x * x has twice that of x. */
static uint64_t sample_log(uint32_t number)
{
    unsigned whole = 31u - (unsigned)__builtin_clz(number);
    uint64_t log = whole, x = (uint64_t)number << (ONE_BITS - whole);
    for (int bit = 0; bit < LOG_BITS; bit++) {
        x = x * x >> ONE_BITS;
        uint64_t above = x >> (ONE_BITS + 1);
        x >>= above;
        log = log << 1 | above;
    }
    return log;
}

/* -mean * ln(u), rounded down, for a u that is uniform in (0, 1]. */
static uint64_t sample_interval(uint64_t mean)
{
    uint64_t bits = ((uint64_t)DRAWN_BITS << LOG_BITS) - sample_log(sample_drawn());
    return (bits * LN2 >> LN2_BITS) * mean >> LOG_BITS;
}

/* A request is due. If it is a sample: the mean, and its bytes are counted. 0: it is none, and the countdown is one of which
 * nobody took its bytes yet. */
static uint64_t sample_judged(size_t bytes)
{
    const uint64_t mean = sampling_mean();
    if (mean == 0 || !sampling_here()) {
        sampler.draws = false;
        hs_until_sample = SAMPLE_LOOK_BYTES + bytes;
        return 0;
    }
    if (!sampler.seeded)
        sample_seed();
    if (!sampler.draws || sampler.mean != mean) {
        sampler.draws = true;
        sampler.mean = mean;
        hs_until_sample = sample_interval(mean);
        if (bytes <= hs_until_sample)
            return 0;
    }
    hs_until_sample = sample_interval(mean);
    return mean;
}

/* Counts a request: the mean if it is a sample, else 0. No block is so long as what is not counted. */
static uint64_t sample_counted(size_t bytes)
{
    if (bytes > PTRDIFF_MAX || !sampling_counts() || !sampling_due(bytes))
        return 0;
    uint64_t mean = sample_judged(bytes);
    if (mean == 0)
        hs_until_sample -= bytes;
    return mean;
}

static void sample_take(void *block, size_t bytes, uint64_t mean, const struct call_stack *stack)
{
    uint32_t page = run_first_page(block);
    if (page != UINT32_MAX) {
        hs_runs.page[page].age = AGE_SAMPLED;
    } else if (guarded_holds(block)) {
        guarded_set_sample(block, true);
    } else {
        huge_set_sample(block, true);
        count_shared(&hs_huge_samples, 1);
    }
    count_shared(&hs_count.sampled, 1);
    count_shared(&hs_count.sampled_bytes, bytes);
    hs_sample_taken(block, bytes, mean, stack);
}

/* False: it is none. */
static bool huge_ends(void *block)
{
    if (!huge_set_sample(block, false))
        return false;
    count_shared(&hs_huge_samples, (uint64_t)-1);
    return true;
}

void sampling_ends(void *block)
{
    uint32_t page = run_first_page(block);
    if (page != UINT32_MAX)
        hs_runs.page[page].age = AGE_CLEAN;
    else if (guarded_holds(block) ? !guarded_set_sample(block, false) : !huge_ends(block))
        return;
    count_shared(&hs_count.sampled_freed, 1);
    hs_sample_freed(block);
}

/* The mark of a huge block has moved with it, that of a run is gone. The old address may be another block's by now. */
void sampling_moved(void *block, void *resized, uint64_t number)
{
    if (run_first_page(block) == UINT32_MAX && !huge_ends(resized))
        return;
    count_shared(&hs_count.sampled_freed, 1);
    hs_sample_moved(block, number);
}

/* A program that asks for this before it calls realloc must not find a sample roomier than the blocks that it stands for. */
size_t sampling_room(const void *block, size_t bytes)
{
    const uint64_t asked = hs_sample_bytes(block);
    if (asked == 0 || asked > SMALL_LIMIT)
        return bytes;
    const size_t usable = hs_class[size_to_class(asked)].usable;
    return usable < bytes ? usable : bytes;
}

static void *sample_alloc(size_t bytes, size_t alignment, uint64_t mean, bool *zero)
{
    struct call_stack stack;
    hs_call_stack(&stack);
    void *block = SAMPLE_GUARDS > 0 && hs_started() ? guarded_alloc(bytes, alignment, &stack) : NULL;
    *zero = block != NULL;
    if (block == NULL)
        block = hs_large_alloc(bytes, alignment, zero);
    if (block != NULL)
        sample_take(block, bytes, mean, &stack);
    return block;
}

/* A run for a small request; NULL, and errno is as before, where the span has no room: then it is no sample. */
static void *sample_alloc_small(size_t bytes, size_t alignment, uint64_t mean)
{
    int saved = errno;
    bool zero;
    void *block = sample_alloc(bytes, alignment, mean, &zero);
    errno = saved;
    return block;
}

void *hs_malloc_sampled(size_t bytes, const void *caller)
{
    bool zero;
    if (bytes > PTRDIFF_MAX) {
        hs_until_sample += bytes; /* as before */
        return hs_malloc_large(bytes);
    }
    uint64_t mean = sample_judged(bytes);
    if (mean == 0)
        return hs_malloc_from(bytes, caller);
    if (bytes > SMALL_LIMIT)
        return sample_alloc(bytes, GRAIN, mean, &zero);
    void *block = sample_alloc_small(bytes, GRAIN, mean);
    if (block != NULL)
        return block;
    hs_until_sample += bytes;
    return hs_malloc_from(bytes, caller);
}

void *sampling_large(size_t bytes, size_t alignment, bool *zero)
{
    uint64_t mean = sample_counted(bytes);
    return mean > 0 ? sample_alloc(bytes, alignment, mean, zero) : hs_large_alloc(bytes, alignment, zero);
}

void *draws_aligned(size_t bytes, size_t alignment, size_t size)
{
    uint64_t mean = sample_counted(bytes);
    void *block = mean > 0 ? sample_alloc_small(bytes, alignment, mean) : NULL;
    if (block == NULL && sampling_counts())
        hs_until_sample += size;
    return block;
}

void sampling_resized(void *block, size_t bytes)
{
    uint64_t mean = sample_counted(bytes);
    if (mean > 0) {
        struct call_stack stack;
        hs_call_stack(&stack);
        sample_take(block, bytes, mean, &stack);
    }
}

void sampling_reset(void)
{
    hs_until_sample = 0;
    sampler.seeded = sampler.draws = false;
    sampling_threads = 0;
    hs_huge_samples = 0;
    hs_samples_forget();
}
