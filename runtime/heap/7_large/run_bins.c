/* Bins of free runs, LIFO by length; best fit among the first of a bin (docs/machine.md, 'runs'). */
#include "7_large/run_bins.h"

#include "3_records/heap.h"
#include "7_large/run_ages.h"
#include "7_large/run_pages.h"

#include <string.h>

static uint32_t bin[RUN_BINS];                 /* 1 + first page of the run pushed last, 0 when empty */
static uint64_t filled[(RUN_BINS + 63) / 64]; /* bit set == bin not empty */

static unsigned bin_of(uint32_t length)
{
    if (length <= 32)
        return length - 1;
    unsigned k = 31u - (unsigned)__builtin_clz(length);
    unsigned index = 32 + 4 * (k - 5) + ((length >> (k - 2)) & 3);
    return index < RUN_BINS ? index : RUN_BINS - 1;
}

void bins_push(uint32_t first, uint32_t length, uint32_t dirty)
{
    unsigned index = bin_of(length);
    struct page *run = &hs_runs.page[first];
    struct page *last = &hs_runs.page[first + length - 1];
    run->length = last->length = length;
    run->dirty = dirty;
    run->previous = 0;
    run->next = bin[index];
    if (run->next != 0)
        hs_runs.page[run->next - 1].previous = first + 1;
    bin[index] = first + 1;
    filled[index / 64] |= UINT64_C(1) << (index % 64);
    last->ends_free = true;
    set_run_state(first, RUN_FREE);
    ages_join(first);
}

void bins_unlink(uint32_t first)
{
    struct page *run = &hs_runs.page[first];
    unsigned index = bin_of(run->length);
    ages_leave(first);
    if (run->previous != 0)
        hs_runs.page[run->previous - 1].next = run->next;
    else
        bin[index] = run->next;
    if (run->next != 0)
        hs_runs.page[run->next - 1].previous = run->previous;
    if (bin[index] == 0)
        filled[index / 64] &= ~(UINT64_C(1) << (index % 64));
    hs_runs.page[first + run->length - 1].ends_free = false;
    set_run_state(first, RUN_GONE);
}

/* The shortest of at least `length` pages among the first runs of a bin, of equals the first: 1 + page, 0 if none is. */
static uint32_t best_of(unsigned index, uint32_t length)
{
    uint32_t best = 0;
    uint32_t best_length = UINT32_MAX;
    uint32_t run = bin[index];
    for (unsigned looked = 0; run != 0 && looked < RUN_BEST_OF && best_length > length; looked++) {
        const struct page *candidate = &hs_runs.page[run - 1];
        if (candidate->length >= length && candidate->length < best_length) {
            best = run;
            best_length = candidate->length;
        }
        run = candidate->next;
    }
    return best;
}

/* The first bin from `index` on that is not empty; RUN_BINS if there is none. */
static unsigned next_filled(unsigned index)
{
    while (index < RUN_BINS) {
        uint64_t word = filled[index / 64] >> (index % 64);
        if (word != 0)
            return index + (unsigned)__builtin_ctzll(word);
        index = (index / 64 + 1) * 64;
    }
    return RUN_BINS;
}

uint32_t bins_find(uint32_t length)
{
    unsigned index = bin_of(length);
    uint32_t run = best_of(index, length);
    if (run != 0)
        return run;
    index = next_filled(index + 1);
    return index < RUN_BINS ? best_of(index, length) : 0;
}

static size_t check_bin(unsigned index)
{
    size_t runs = 0;
    uint32_t previous = 0;
    check((bin[index] != 0) == (filled[index / 64] >> (index % 64) & 1), "a bin's bit is set while it is not empty");
    for (uint32_t run = bin[index]; run != 0; run = hs_runs.page[run - 1].next, runs++) {
        const struct page *free_run = &hs_runs.page[run - 1];
        check(run_state(run - 1) == RUN_FREE && bin_of(free_run->length) == index, "a run hangs in the bin of its length");
        check(free_run->previous == previous, "a bin is linked both ways");
        previous = run;
    }
    return runs;
}

/* The number of free runs in all bins. */
size_t bins_check(void)
{
    size_t runs = 0;
    for (unsigned index = 0; index < RUN_BINS; index++)
        runs += check_bin(index);
    return runs;
}

void bins_reset(void)
{
    memset(bin, 0, sizeof bin);
    memset(filled, 0, sizeof filled);
}
