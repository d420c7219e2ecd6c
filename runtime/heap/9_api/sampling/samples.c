/* Samples of blocks (samples.h): a table by address with linear probing, from which entries move up when one leaves
 * (Knuth, The Art of Computer Programming, vol. 3, 6.4, algorithm R); and a table by call stack, in which all stay. */
#define _GNU_SOURCE
#include "9_api/sampling/samples.h"

#include "1_base/call_stack.h"
#include "1_base/page.h"
#include "2_system/held_over_fork.h"
#include "9_api/sampling/probes.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum { ANY_SAMPLE = 0 }; /* the first one has the number 1 */

struct samples hs_samples;

/* Not counted among the locks of the heap, which the model predicts. */
static struct lock *const samples_lock = &hs_numbered[SAMPLING_FIRST_LOCK].lock;

static void enter_samples(void)
{
    if (!hs_forking) {
        watch_fork(&hs_lock_handlers);
        if (!lock_try(samples_lock))
            hs_lock_wait(samples_lock);
    }
    __atomic_store_n(&hs_samples.changes, hs_samples.changes + 1, __ATOMIC_RELAXED);
    __atomic_thread_fence(__ATOMIC_RELEASE); /* who sees a change sees the odd number */
}

static void leave_samples(void)
{
    __atomic_store_n(&hs_samples.changes, hs_samples.changes + 1, __ATOMIC_RELEASE);
    if (!hs_forking)
        lock_release(samples_lock);
}

/* The probability that a block is sampled: 1 - exp(-bytes / mean), of which the doubled argument follows without a loss. */
static double sampled_share(uint64_t bytes, uint64_t mean)
{
    double x = (double)(bytes > 0 ? bytes : 1) / (double)(mean > 0 ? mean : 1);
    unsigned halvings = 0;
    if (x > 64)
        return 1;
    for (; x > 1.0 / 64; x /= 2)
        halvings++;
    double share = x * (1 - x / 2 * (1 - x / 3 * (1 - x / 4 * (1 - x / 5))));
    for (; halvings > 0; halvings--)
        share *= 2 - share;
    return share;
}

/* Horvitz and Thompson, "A generalization of sampling without replacement from a finite universe", 1952. */
static struct estimate estimate_of(const struct sample *sample)
{
    const double share = sampled_share(sample->bytes, sample->mean), bytes = (double)sample->bytes;
    const double variance = (1 - share) / (share * share);
    return (struct estimate){ 1 / share, bytes / share, variance, bytes * bytes * variance };
}

/* The places of a table of `sites` call stacks: twice as many or more, and so few at first that they fill one page. */
static uint32_t places_for(uint64_t sites)
{
    uint32_t places = FEWEST_PLACES;
    while (places < 2 * sites)
        places *= 2;
    return places;
}

static uint32_t site_place(const uintptr_t *frame, uint64_t depth, uint32_t places)
{
    uint64_t hash = depth;
    for (uint64_t index = 0; index < depth; index++)
        hash = ((hash << 27 | hash >> 37) ^ frame[index]) * 0x9e3779b97f4a7c15;
    return (uint32_t)(hash >> 32) & (places - 1);
}

/* The site's number comes to the first free place. */
static void site_put(struct sample_tables *tables, uint32_t number, uint32_t places)
{
    const struct sample_site *site = &tables->site[number];
    uint32_t place = site_place(site->frame, site->depth, places);
    while (tables->site_at[place] != 0)
        place = (place + 1) & (places - 1);
    tables->site_at[place] = (uint16_t)number;
}

/* The last site is new. */
static void site_added(struct sample_tables *tables)
{
    const uint64_t sites = hs_samples.sites;
    const uint32_t before = places_for(sites - 1), places = places_for(sites);
    uint64_t first = sites - 1;
    if (places > before) {
        memset(tables->site_at, 0, before * sizeof *tables->site_at);
        first = 1;
    }
    for (uint64_t number = first; number < sites; number++)
        site_put(tables, (uint32_t)number, places);
}

/* The number of a stack, old or new; 0 if there is no room. */
static uint32_t site_number(struct sample_tables *tables, const struct call_stack *stack)
{
    const size_t bytes = stack->depth * sizeof *stack->frame;
    const uint32_t places = places_for(hs_samples.sites);
    uint32_t place = site_place(stack->frame, stack->depth, places);
    for (; tables->site_at[place] != 0; place = (place + 1) & (places - 1)) {
        const struct sample_site *site = &tables->site[tables->site_at[place]];
        if (site->depth == stack->depth && memcmp(site->frame, stack->frame, bytes) == 0)
            return tables->site_at[place];
    }
    if (stack->depth == 0 || hs_samples.sites == MOST_SITES)
        return 0;
    const uint32_t number = (uint32_t)hs_samples.sites++;
    tables->site[number].depth = stack->depth;
    memcpy(tables->site[number].frame, stack->frame, bytes);
    site_added(tables);
    return number;
}

/* Each sample has a page of its own, mostly next to that of another: 64 pages lie together in the table, or each sample would make
 * a page of it resident. Fibonacci hashing of these groups. */
static uint32_t home_of(uintptr_t block)
{
    const uint64_t page = (uint64_t)block >> 12;
    return ((uint32_t)((page >> 6) * 0x9e3779b97f4a7c15 >> 32) << 6 | (uint32_t)(page & 63)) & (SAMPLE_PLACES - 1);
}

/* Where a block's sample is, or where it may go. At most half of the places are taken. */
static uint32_t place_of(const struct sample_tables *tables, uintptr_t block)
{
    uint32_t place = home_of(block);
    while (tables->sample[place].block != 0 && tables->sample[place].block != block)
        place = (place + 1) & (SAMPLE_PLACES - 1);
    return place;
}

/* NULL: no sample is there, or it was dropped. */
static const struct sample *sample_at(const void *block)
{
    if (hs_samples.tables == NULL)
        return NULL;
    const struct sample *sample = &hs_samples.tables->sample[place_of(hs_samples.tables, (uintptr_t)block)];
    return sample->block != 0 ? sample : NULL;
}

/* Later samples of the row move up, unless they would leave it in front of their home. */
static void move_up(struct sample_tables *tables, uint32_t hole)
{
    for (uint32_t behind = (hole + 1) & (SAMPLE_PLACES - 1); tables->sample[behind].block != 0;
         behind = (behind + 1) & (SAMPLE_PLACES - 1)) {
        const uint32_t home = home_of(tables->sample[behind].block);
        if (((behind - home) & (SAMPLE_PLACES - 1)) < ((behind - hole) & (SAMPLE_PLACES - 1)))
            continue;
        tables->sample[hole] = tables->sample[behind];
        hole = behind;
    }
    tables->sample[hole].block = 0;
}

static void remove_sample(struct sample_tables *tables, uint32_t place)
{
    const struct estimate gone = estimate_of(&tables->sample[place]);
    struct sample_site *site = &tables->site[tables->sample[place].site];
    site->live_blocks -= gone.blocks;
    site->live_bytes -= gone.bytes;
    hs_samples.live_bytes -= gone.bytes;
    hs_samples.live--;
    move_up(tables, place);
}

static void count_allocated(struct sample_site *site, const struct sample *sample, const struct estimate *of)
{
    site->allocated.blocks += of->blocks;
    site->allocated.bytes += of->bytes;
    site->allocated.blocks_variance += of->blocks_variance;
    site->allocated.bytes_variance += of->bytes_variance;
    site->samples++;
    site->sampled_bytes += sample->bytes;
}

static void add_sample(struct sample_tables *tables, struct sample sample, const struct estimate *of)
{
    struct sample_site *site = &tables->site[sample.site];
    count_allocated(site, &sample, of);
    uint32_t place = place_of(tables, sample.block);
    if (tables->sample[place].block != 0) {
        remove_sample(tables, place);
        place = place_of(tables, sample.block);
    }
    if (hs_samples.live == MOST_SAMPLES) {
        hs_samples.dropped++;
        return;
    }
    tables->sample[place] = sample;
    site->live_blocks += of->blocks;
    site->live_bytes += of->bytes;
    hs_samples.live_bytes += of->bytes;
    hs_samples.live++;
}

static void *map_pages(size_t bytes)
{
    void *pages = mmap(NULL, whole_pages(bytes), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    return pages == MAP_FAILED ? NULL : pages;
}

/* Without it all samples are dropped. */
static struct sample_tables *tables_mapped(void)
{
    if (hs_samples.tables == NULL) {
        hs_samples.tables = map_pages(sizeof *hs_samples.tables);
        hs_samples.sites = 1;
    }
    return hs_samples.tables;
}

APART void hs_sample_taken(void *block, size_t bytes, uint64_t mean, const struct call_stack *stack)
{
    const int saved = errno;
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    struct sample sample = { .block = (uintptr_t)block, .bytes = bytes, .mean = mean };
    sample.time_ns = (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
    sample.thread = (uint32_t)syscall(SYS_gettid);
    const struct estimate of = estimate_of(&sample);
    enter_samples();
    sample.number = ++hs_samples.taken;
    hs_samples.mean = mean;
    struct sample_tables *tables = tables_mapped();
    if (tables != NULL) {
        sample.site = site_number(tables, stack);
        hs_samples.unsited += sample.site == 0;
        add_sample(tables, sample, &of);
    } else {
        hs_samples.dropped++;
    }
    leave_samples();
    PROBE_ALLOC(block, bytes, (uint64_t)of.bytes);
    errno = saved;
}

/* number: of the sample, or ANY_SAMPLE. */
static APART void sample_ends(void *block, uint64_t number)
{
    const int saved = errno;
    PROBE_FREE(block);
    enter_samples();
    const struct sample *sample = sample_at(block);
    if (sample != NULL && (number == ANY_SAMPLE || number == sample->number))
        remove_sample(hs_samples.tables, (uint32_t)(sample - hs_samples.tables->sample));
    leave_samples();
    errno = saved;
}

void hs_sample_freed(void *block)
{
    sample_ends(block, ANY_SAMPLE);
}

void hs_sample_moved(void *block, uint64_t number)
{
    sample_ends(block, number);
}

/* The live sample of the block; all zeros: it is none. */
static struct sample sample_of(const void *block)
{
    const int saved = errno;
    enter_samples();
    const struct sample *sample = sample_at(block);
    const struct sample found = sample != NULL ? *sample : (struct sample){ 0 };
    leave_samples();
    errno = saved;
    return found;
}

uint64_t hs_sample_number(const void *block)
{
    const uint64_t number = sample_of(block).number;
    return number > 0 ? number : UINT64_MAX;
}

uint64_t hs_sample_bytes(const void *block)
{
    return sample_of(block).bytes;
}

uint32_t hs_stack_number(const struct call_stack *stack)
{
    const int saved = errno;
    enter_samples();
    struct sample_tables *tables = tables_mapped();
    const uint32_t number = tables != NULL ? site_number(tables, stack) : 0;
    leave_samples();
    errno = saved;
    return number;
}

void hs_samples_forget(void)
{
    enter_samples();
    if (hs_samples.tables != NULL)
        munmap(hs_samples.tables, whole_pages(sizeof *hs_samples.tables));
    hs_samples = (struct samples){ .changes = hs_samples.changes };
    leave_samples();
}

struct samples_copy *hs_samples_copy(void)
{
    if (!hs_forking && lock_mine(samples_lock)) {
        errno = EAGAIN;
        return NULL;
    }
    struct samples_copy *copy = map_pages(sizeof *copy);
    if (copy == NULL) {
        errno = ENOMEM;
        return NULL;
    }
    enter_samples();
    const struct sample_tables *tables = hs_samples.tables;
    copy->samples = hs_samples;
    copy->samples.tables = &copy->tables;
    if (tables != NULL) {
        memcpy(copy->tables.sample, tables->sample, sizeof tables->sample);
        memcpy(copy->tables.site, tables->site, hs_samples.sites * sizeof *tables->site);
    }
    leave_samples();
    return copy;
}

void hs_samples_drop(struct samples_copy *copy)
{
    munmap(copy, whole_pages(sizeof *copy));
}
