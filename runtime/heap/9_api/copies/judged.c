/* Copies "judged": memcpy, memmove and memset of a hardened library look first whether what they write lies in one block.
 *
 * It must end where the bytes end that the program asked for, or without canaries where the block ends. Huge blocks have
 * guards for that. The C library's own functions do the work, under the names that fortified programs call. */
#include "9_api/api.h"

#include "4_blocks/hardening/hardening.h"
#include "4_blocks/hardening/live.h"
#include "7_large/run_pages.h"
#include "7_large/runs.h"
#include "4_blocks/slab_numbers.h"

#ifndef HEAPSMITH_ARCHIVE

#pragma GCC visibility push(default)

void *copy(void *to, const void *from, size_t bytes) __asm__("memmove");
void *copy_apart(void *to, const void *from, size_t bytes) __asm__("memcpy") __attribute__((alias("memmove")));
void *fill(void *start, int byte, size_t bytes) __asm__("memset");

#pragma GCC visibility pop

static const char BEYOND[] = "copy or fill beyond the end of a block", NOT_IN_USE[] = "copy or fill of what is no block in use";

/* Why a write at `offset` in the span may not be, or NULL. Most begin where a block does. Not looked at are the first word of a
 * block; and without canaries, where blocks are whole grains, what lies in one grain. */
static inline const char *fault_of_small(const char *at, uintptr_t offset, size_t bytes)
{
    if (TAIL_BYTES == 0 && bytes <= GRAIN - offset % GRAIN)
        return NULL;
    size_t before = 0;
    const unsigned class = hs_class_at(offset);
    if (!hs_is_live(offset)) {
        if (class >= CLASS_COUNT)
            return NOT_IN_USE;
        size_t inside = offset % SLAB_BYTES - (HAS_HEADERS ? hs_class[class].first : 0);
        before = inside - block_index(inside, block_index_by(class)) * hs_class[class].stride;
        if (inside >= SLAB_BYTES || !hs_is_live(offset - before))
            return NOT_IN_USE;
        if (bytes > SIZE_MAX - before)
            return BEYOND;
    } else if (bytes <= sizeof(uint64_t)) {
        return NULL;
    }
    size_t end = before + bytes, usable = hs_class[class].usable;
    return end > usable || hardening_slack(at - before + usable) > usable - end ? BEYOND : NULL;
}

/* Within a run no page begins another. The tail can be asked for where what is written ends on one of the run's
 * last two pages; more are not left over. */
static const char *fault_of_run(const char *at, size_t bytes)
{
    uint32_t top = __atomic_load_n(&hs_runs.top, __ATOMIC_ACQUIRE);
    size_t offset = (size_t)(at - hs_runs.start), page = offset / PAGE_BYTES, end;
    if (page >= top || run_state((uint32_t)page) == RUN_FREE || run_state((uint32_t)page) == RUN_GONE)
        return NOT_IN_USE;
    if (__builtin_add_overflow(offset, bytes, &end))
        return BEYOND;
    size_t last = (end - 1) / PAGE_BYTES;
    while (page <= last && page + 1 < top && run_state((uint32_t)page + 1) == RUN_NONE)
        page++;
    bool ends = page + 1 == top || run_state((uint32_t)page + 1) != RUN_NONE;
    size_t usable = (page + 1) * PAGE_BYTES - TAIL_BYTES;
    bool beyond = page < last || (ends && (end > usable || hardening_slack(hs_runs.start + usable) > usable - end));
    return beyond ? BEYOND : NULL;
}

/* May it be written without another look? */
static inline bool is_inside(const void *at, size_t bytes)
{
    uintptr_t offset = (uintptr_t)at - hs_span;
    if (offset < SLAB_SPAN_BYTES)
        return fault_of_small(at, offset, bytes) == NULL;
    return (uintptr_t)at - (uintptr_t)hs_runs.start >= hs_runs.pages * PAGE_BYTES;
}

/* Another look, at what lies in one of our spans. No bytes may be written anywhere. */
static void judge(const void *at, size_t bytes)
{
    uintptr_t offset = (uintptr_t)at - hs_span;
    if (bytes == 0)
        return;
    const char *fault = offset < SLAB_SPAN_BYTES ? fault_of_small(at, offset, bytes) : fault_of_run(at, bytes);
    if (fault != NULL)
        hs_misuse(fault, at);
}

__attribute__((noinline)) static void *copy_judged(void *to, const void *from, size_t bytes)
{
    judge(to, bytes);
    return hs_copy_any(to, from, bytes, hs_any_size());
}

__attribute__((noinline)) static void *fill_judged(void *start, int byte, size_t bytes)
{
    judge(start, bytes);
    return hs_fill_any(start, byte, bytes, hs_any_size());
}

void *copy(void *to, const void *from, size_t bytes)
{
    return is_inside(to, bytes) ? hs_copy_any(to, from, bytes, hs_any_size()) : copy_judged(to, from, bytes);
}

void *fill(void *start, int byte, size_t bytes)
{
    return is_inside(start, bytes) ? hs_fill_any(start, byte, bytes, hs_any_size()) : fill_judged(start, byte, bytes);
}

#endif
