/* Copies "judged": memcpy, memmove and memset of a hardened library look first whether what they write lies in one block.
 *
 * It must end where the bytes end that the program asked for, or without canaries where the block ends. Huge blocks have
 * guards for that. The C library's own functions do the work, under the names that fortified programs call. */
#include "api.h"

#include "hardening/hardening.h"
#include "hardening/live.h"
#include "run_pages.h"
#include "runs.h"
#include "slab_numbers.h"

#ifndef HEAPSMITH_ARCHIVE

#pragma GCC visibility push(default)

void *copy(void *to, const void *from, size_t bytes) __asm__("memmove");
void *copy_apart(void *to, const void *from, size_t bytes) __asm__("memcpy") __attribute__((alias("memmove")));
void *fill(void *start, int byte, size_t bytes) __asm__("memset");

#pragma GCC visibility pop

__attribute__((noinline, cold, noreturn)) static void leaves(bool live, const void *at)
{
    hs_misuse(live ? "copy or fill beyond the end of a block" : "copy or fill of what is no block in use", at);
}

/* Without canaries blocks are whole grains: what lies in one grain leaves no block, and is not looked at. */
static inline void judge_small(const char *at, size_t bytes)
{
    uintptr_t offset = (uintptr_t)at - hs_span;
    if (TAIL_BYTES == 0 ? offset % GRAIN + bytes <= GRAIN : bytes == 0)
        return;
    unsigned class = slab_of(at)->class;
    const struct class_plan *plan = &hs_class[class];
    size_t inside = offset % SLAB_BYTES - plan->first;
    size_t before = inside - block_index(inside, block_index_by(class)) * plan->stride;
    bool live = inside < SLAB_BYTES && (hs_live[(offset - before) / GRAIN] & LIVE) != 0;
    size_t end = before + bytes, usable = plan->usable;
    if (!live || end > usable || hardening_slack(at - before + usable) > usable - end)
        leaves(live, at);
}

/* Within a run no page begins another. The tail can be asked for where what is written ends on the run's last page. */
static void judge_run(const char *at, size_t bytes)
{
    uint32_t top = __atomic_load_n(&hs_runs.top, __ATOMIC_ACQUIRE);
    size_t offset = (size_t)(at - hs_runs.start), page = offset / PAGE_BYTES, last = (offset + bytes - 1) / PAGE_BYTES;
    if (bytes == 0)
        return;
    if (page >= top || run_state((uint32_t)page) == RUN_FREE || run_state((uint32_t)page) == RUN_GONE)
        leaves(false, at);
    while (page < last && page + 1 < top && run_state((uint32_t)page + 1) == RUN_NONE)
        page++;
    bool ends = page + 1 == top || run_state((uint32_t)page + 1) != RUN_NONE;
    size_t end = offset + bytes, usable = (page + 1) * PAGE_BYTES - TAIL_BYTES;
    if (page < last || (ends && (end > usable || hardening_slack(hs_runs.start + usable) > usable - end)))
        leaves(true, at);
}

static inline void judge(const void *at, size_t bytes)
{
    if ((uintptr_t)at - hs_span < SLAB_SPAN_BYTES)
        judge_small(at, bytes);
    else if ((uintptr_t)at - (uintptr_t)hs_runs.start < hs_runs.pages * PAGE_BYTES)
        judge_run(at, bytes);
}

void *copy(void *to, const void *from, size_t bytes)
{
    judge(to, bytes);
    return hs_copy_any(to, from, bytes, SIZE_MAX);
}

void *fill(void *start, int byte, size_t bytes)
{
    judge(start, bytes);
    return hs_fill_any(start, byte, bytes, SIZE_MAX);
}

#endif
