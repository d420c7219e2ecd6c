/* Copies "judged": memcpy, memmove and memset of a hardened library look first whether what they touch lies in one block.
 *
 * What they write must end where the bytes end that the program asked for, what they read where the block ends. Huge blocks
 * have guards for that. The C library's own functions do the work, under the names that fortified programs call. */
#include "api.h"

#include "hardening/hardening.h"
#include "hardening/live.h"
#include "run_pages.h"
#include "runs.h"
#include "slab_numbers.h"

#ifndef HEAPSMITH_ARCHIVE

#pragma GCC visibility push(default)

void *copy_apart(void *to, const void *from, size_t bytes) __asm__("memcpy");
void *copy_over(void *to, const void *from, size_t bytes) __asm__("memmove");
void *fill(void *to, int byte, size_t bytes) __asm__("memset");
extern void *copy_now(void *to, const void *from, size_t bytes, size_t room) __asm__("__memmove_chk");
extern void *fill_now(void *to, int byte, size_t bytes, size_t room) __asm__("__memset_chk");

#pragma GCC visibility pop

/* The block ends at `end`, where a tail may say that the program asked for less. */
static void judge_end(const char *at, size_t bytes, bool written, const char *end)
{
    size_t room = (size_t)(end - at), slack = written && end >= at ? hardening_slack(end) : 0;
    if (end < at || bytes > room || slack > room - bytes)
        hs_misuse("copy or fill beyond the end of a block", at);
}

static void judge_small(const char *at, size_t bytes, bool written)
{
    const struct slab *slab = slab_of(at);
    unsigned class = slab->class;
    const struct class_plan *plan = &hs_class[class];
    size_t inside = (size_t)(at - slab_start(slab)) - plan->first;
    const char *block = at - inside + block_index(inside, block_index_by(class)) * plan->stride;
    if (inside >= SLAB_BYTES || !hs_is_live((uintptr_t)block - hs_span))
        hs_misuse("copy or fill of what is no block in use", at);
    judge_end(at, bytes, written, block + plan->usable);
}

/* Within a run no page begins another. The tail can be asked for where what is touched ends on the run's last page. */
static void judge_run(const char *at, size_t bytes, bool written)
{
    uint32_t top = __atomic_load_n(&hs_runs.top, __ATOMIC_ACQUIRE);
    size_t first = (size_t)(at - hs_runs.start) / PAGE_BYTES;
    if (first >= top || run_state((uint32_t)first) == RUN_FREE || run_state((uint32_t)first) == RUN_GONE)
        hs_misuse("copy or fill of what is no block in use", at);
    size_t end = first + 1, needed = ((size_t)(at - hs_runs.start) + bytes - 1) / PAGE_BYTES + 1;
    while (end < needed && end < top && run_state((uint32_t)end) == RUN_NONE)
        end++;
    if (end < needed || end == top || run_state((uint32_t)end) != RUN_NONE)
        judge_end(at, bytes, written, hs_runs.start + end * PAGE_BYTES - TAIL_BYTES);
}

static inline void judge(const void *at, size_t bytes, bool written)
{
    if (in_slab_span(at) && bytes > 0)
        judge_small(at, bytes, written);
    else if (runs_span_holds(at) && bytes > 0)
        judge_run(at, bytes, written);
}

void *copy_apart(void *to, const void *from, size_t bytes)
{
    judge(from, bytes, false);
    judge(to, bytes, true);
    return copy_now(to, from, bytes, SIZE_MAX);
}

void *copy_over(void *to, const void *from, size_t bytes)
{
    return copy_apart(to, from, bytes);
}

void *fill(void *to, int byte, size_t bytes)
{
    judge(to, bytes, true);
    return fill_now(to, byte, bytes, SIZE_MAX);
}

#endif
