/* Huge pages for runs that the program writes, as samples tell. */
#include "7_large/thp/thp_runs.h"

/* Huge pages from SMALL_PAGES on, where pages of runs are written (docs/machine-rooms.md, 'evidence'). Of each stride the
 * first huge page's place keeps small pages, which tell what the program writes. */
#define STRIDE_PAGES (8 * HUGE_PAGE_PAGES)
enum {
    STRETCHES = 8, /* from a look to the next: this part of the span, or a stride */
    PLACES = 4,    /* that a look samples, */
    SAMPLES = 16,  /* and pages of each */
};

static struct {
    bool dense;      /* what the last look found */
    size_t mark;     /* the next look, where pages from here on become writable */
    uint32_t reused; /* pages that had gone back and were handed out again, since the last look for that */
} evidence;

/* One page of each SAMPLES-th part of a place, at another offset in each part so that blocks of its length are seen whole;
 * no page of a free run. */
static unsigned sample(size_t place, const void **page)
{
    const size_t length = HUGE_PAGE_PAGES / SAMPLES, turn = length * 5 / 8 - 1;
    unsigned sampled = 0;
    uint32_t run = (uint32_t)place;
    while (run_state(run) == RUN_NONE)
        run--;
    for (size_t part = 0; part < SAMPLES; part++) {
        size_t at = place + part * length + part * turn % length;
        while (run + hs_runs.page[run].length <= at)
            run += hs_runs.page[run].length;
        if (run_state(run) != RUN_FREE)
            page[sampled++] = hs_runs.start + at * PAGE_BYTES;
    }
    return sampled;
}

/* Is 7/8 written of what is sampled in every step-th stride, from the last one below top? */
static bool runs_are_dense(size_t strides, size_t step)
{
    const void *page[PLACES * SAMPLES];
    unsigned sampled = 0;
    for (size_t index = 0; index < PLACES && index * step < strides; index++)
        sampled += sample((strides - 1 - index * step) * STRIDE_PAGES, page + sampled);
    return sampled >= SAMPLES && os_written(page, sampled) * 8 >= sampled * 7;
}

/* Whose first place lies below top. */
static size_t strides_below_top(void)
{
    return (hs_runs.top + STRIDE_PAGES - HUGE_PAGE_PAGES) / STRIDE_PAGES;
}

/* What was taken for dense and is not gets no more huge pages. */
static void change(bool dense)
{
    if (evidence.dense && !dense && hs_runs.writable > SMALL_PAGES)
        os_huge_pages(hs_runs.start + (size_t)SMALL_PAGES * PAGE_BYTES, (hs_runs.writable - SMALL_PAGES) * PAGE_BYTES,
                      false);
    evidence.dense = dense;
}

/* Pages below `end` become writable: a look at the last stretch. */
COLD static void look_below_top(size_t end)
{
    size_t below = strides_below_top(), strides = end / STRIDE_PAGES;
    change(runs_are_dense(below, below / (STRETCHES * PLACES) + 1));
    evidence.mark = (strides + (strides < STRETCHES ? 1 : strides / STRETCHES)) * STRIDE_PAGES;
}

/* A look at the whole span. */
COLD static void look_all_over(void)
{
    size_t below = strides_below_top();
    evidence.reused = 0;
    change(runs_are_dense(below, (below + PLACES - 1) / PLACES));
}

/* Huge pages but for the first place of each stride. */
static void advise_strides(size_t first, size_t end)
{
    for (size_t page = first, behind; page < end; page = behind) {
        size_t stride = page / STRIDE_PAGES * STRIDE_PAGES;
        size_t from = page > stride + HUGE_PAGE_PAGES ? page : stride + HUGE_PAGE_PAGES;
        behind = stride + STRIDE_PAGES < end ? stride + STRIDE_PAGES : end;
        if (from < behind)
            os_huge_pages(hs_runs.start + from * PAGE_BYTES, (behind - from) * PAGE_BYTES, true);
    }
}

void thp_runs_writable(size_t first, size_t end)
{
    size_t huge = first < SMALL_PAGES ? SMALL_PAGES : first;
    if (huge >= end)
        return;
    if (end > evidence.mark)
        look_below_top(end);
    if (evidence.dense)
        advise_strides(huge, end);
}

void thp_runs_reused(uint32_t length)
{
    evidence.reused += evidence.dense ? length : 0;
}

void thp_runs_look(void)
{
    if (evidence.reused >= STRIDE_PAGES)
        look_all_over();
}

void thp_runs_reset(void)
{
    evidence.dense = false;
    evidence.mark = SMALL_PAGES;
    evidence.reused = 0;
}
