/* Guarded samples (guarded.h): the slots, which are taken in their order, and then the one that was freed first. */
#define _GNU_SOURCE
#include "7_large/sampling/guarded.h"

#include "2_system/counters.h"
#include "2_system/held_over_fork.h"
#include "2_system/os.h"
#include "7_large/sampling/guarded_report.h"

#include <errno.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { GUARDED_FILL = 0xd9 }; /* of what lies on a block's pages before and behind it */

static uint32_t slots_begun, oldest_freed, newest_freed; /* slots that had a block; 1 + slot, of those that were freed: FIFO */
static struct lock *const guarded_lock = &hs_numbered[SAMPLING_FIRST_LOCK + 1].lock;

/* Not counted among the locks of the heap, which the model predicts. */
void guarded_enter(void)
{
    if (hs_forking)
        return;
    watch_fork(&hs_lock_handlers);
    if (!lock_try(guarded_lock))
        hs_lock_wait(guarded_lock);
}

void guarded_leave(void)
{
    if (!hs_forking)
        lock_release(guarded_lock);
}

static uintptr_t slot_pages(const struct guarded_slot *slot)
{
    return guarded_end(slot) - whole_pages(slot->bytes);
}

static struct guarded_slot *slot_next(void)
{
    if (slots_begun < SAMPLE_GUARDS)
        return &hs_guarded[slots_begun];
    return oldest_freed > 0 ? &hs_guarded[oldest_freed - 1] : NULL;
}

static void slot_taken(struct guarded_slot *slot)
{
    if (slot->state == GUARDED_NEVER) {
        slots_begun++;
        return;
    }
    oldest_freed = slot->next;
    newest_freed = oldest_freed > 0 ? newest_freed : 0;
}

static void slot_queued(struct guarded_slot *slot)
{
    const uint32_t number = 1 + (uint32_t)(slot - hs_guarded);
    slot->next = 0;
    if (newest_freed > 0)
        hs_guarded[newest_freed - 1].next = number;
    else
        oldest_freed = number;
    newest_freed = number;
}

static void slot_becomes(struct guarded_slot *slot, enum guarded_state state)
{
    __atomic_store_n(&slot->state, (uint8_t)state, __ATOMIC_RELEASE);
}

static void count_slot(int64_t bytes)
{
    count_shared(&hs_huge_committed, (uint64_t)bytes);
    count_committed(bytes);
}

static void slot_fill(const struct guarded_slot *slot)
{
    const uintptr_t pages = slot_pages(slot), behind = slot->block + slot->bytes;
    memset((void *)pages, GUARDED_FILL, slot->block - pages);
    memset((void *)behind, GUARDED_FILL, guarded_end(slot) - behind);
}

/* The first byte that was written since; 0: none. It lies where each byte equals the one before, but for the first. */
static uintptr_t slot_damaged(uintptr_t from, uintptr_t end)
{
    const uint8_t *first = (const uint8_t *)from, *last = (const uint8_t *)end;
    if (from == end || (*first == GUARDED_FILL && memcmp(first, first + 1, end - from - 1) == 0))
        return 0;
    while (first < last && *first == GUARDED_FILL)
        first++;
    return (uintptr_t)first;
}

/* The block becomes live in a slot; false: there is none, or the system refuses its pages. */
static bool slot_open(struct guarded_slot *slot, size_t bytes, size_t alignment, const struct call_stack *stack)
{
    const size_t step = alignment > GRAIN ? alignment : GRAIN;
    if (slot == NULL || !os_commit((void *)(guarded_end(slot) - whole_pages(bytes)), whole_pages(bytes)))
        return false;
    slot_taken(slot);
    slot->bytes = bytes;
    slot->block = guarded_end(slot) - ((bytes + step - 1) & -step);
    slot->allocated = *stack;
    slot->allocated_by = (uint32_t)syscall(SYS_gettid);
    slot->mark = 0;
    slot_becomes(slot, GUARDED_LIVE);
    return true;
}

void *guarded_alloc(size_t bytes, size_t alignment, const struct call_stack *stack)
{
    if (bytes > SAMPLE_GUARD_BYTES || alignment > PAGE_BYTES)
        return NULL;
    const int saved = errno;
    guarded_report_faults();
    guarded_enter();
    struct guarded_slot *slot = slot_next();
    const bool is_open = slot_open(slot, bytes, alignment, stack);
    guarded_leave();
    errno = saved;
    if (!is_open)
        return NULL;
    count_slot((int64_t)whole_pages(bytes));
    slot_fill(slot);
    return (void *)slot->block;
}

static bool slot_lives(const struct guarded_slot *slot, const void *block)
{
    return slot->state == GUARDED_LIVE && slot->block == (uintptr_t)block;
}

/* Why a block in the slots cannot be freed, and the address that is wrong; NULL: it can. */
static const char *slot_fault(const struct guarded_slot *slot, const void *block, uintptr_t *at)
{
    *at = (uintptr_t)block;
    if (!slot_lives(slot, block))
        return slot->state == GUARDED_FREED && slot->block == (uintptr_t)block ? GUARDED_TWICE : GUARDED_MIDDLE;
    *at = slot_damaged(slot->block + slot->bytes, guarded_end(slot));
    if (*at > 0)
        return GUARDED_OVERFLOW;
    *at = slot_damaged(slot_pages(slot), slot->block);
    return *at > 0 ? GUARDED_UNDERFLOW : NULL;
}

/* Where the system refuses (the process has too many mappings) the slot is lost, with the pages of its last block. */
static void slot_close(struct guarded_slot *slot, const struct call_stack *stack)
{
    slot->freed = *stack;
    slot->freed_by = (uint32_t)syscall(SYS_gettid);
    slot_becomes(slot, GUARDED_FREED);
    if (os_decommit((void *)slot_pages(slot), whole_pages(slot->bytes))) {
        count_slot(-(int64_t)whole_pages(slot->bytes));
        slot_queued(slot);
    }
}

bool guarded_free(void *block)
{
    if (!guarded_holds(block))
        return false;
    const int saved = errno;
    struct call_stack stack;
    hs_call_stack(&stack);
    guarded_enter();
    struct guarded_slot *slot = guarded_at((uintptr_t)block);
    uintptr_t at;
    const char *fault = slot_fault(slot, block, &at);
    if (fault == NULL)
        slot_close(slot, &stack);
    guarded_leave();
    if (fault != NULL)
        guarded_misused(fault, at, &stack);
    errno = saved;
    return true;
}

size_t guarded_bytes(const void *block)
{
    if (!guarded_holds(block))
        return 0;
    guarded_enter();
    const struct guarded_slot *slot = guarded_at((uintptr_t)block);
    const bool live = slot_lives(slot, block), freed = slot->state == GUARDED_FREED;
    const size_t bytes = slot->bytes;
    guarded_leave();
    if (!live) {
        struct call_stack stack;
        hs_call_stack(&stack);
        guarded_misused(freed ? GUARDED_AFTER_FREE : GUARDED_MIDDLE, (uintptr_t)block, &stack);
    }
    return bytes;
}

void guarded_census(size_t *bytes, size_t *blocks)
{
    guarded_enter();
    for (const struct guarded_slot *slot = hs_guarded; slot < hs_guarded + slots_begun; slot++)
        if (slot->state == GUARDED_LIVE) {
            *bytes += whole_pages(slot->bytes);
            ++*blocks;
        }
    guarded_leave();
}

int64_t guarded_number(const void *block)
{
    if (!guarded_holds(block))
        return -1;
    const struct guarded_slot *slot = guarded_at((uintptr_t)block);
    return slot_lives(slot, block) ? slot - hs_guarded : -1;
}

bool guarded_set_sample(const void *block, bool is)
{
    guarded_enter();
    struct guarded_slot *slot = guarded_at((uintptr_t)block);
    const bool changes = slot_lives(slot, block) && slot->sampled != is;
    if (changes)
        slot->sampled = is;
    guarded_leave();
    return changes;
}

uint8_t guarded_mark(const void *block)
{
    const struct guarded_slot *slot = guarded_at((uintptr_t)block);
    return slot_lives(slot, block) ? slot->mark : 0;
}

void guarded_set_mark(const void *block, uint8_t mark)
{
    struct guarded_slot *slot = guarded_at((uintptr_t)block);
    if (slot_lives(slot, block))
        slot->mark = mark;
}

size_t guarded_vacate(void)
{
    size_t bytes = 0;
    uintptr_t from = hs_guarded_start;
    for (const struct guarded_slot *slot = hs_guarded; slot < hs_guarded + slots_begun; slot++)
        if (slot->state == GUARDED_LIVE) {
            struct os_part unused = { (void *)from, slot_pages(slot) - from };
            bytes += os_unmap_all(&unused, 1);
            from = guarded_end(slot);
        }
    struct os_part rest = { (void *)from, hs_guarded_start + hs_guarded_bytes - from };
    return bytes + os_unmap_all(&rest, 1);
}

void guarded_reset(void)
{
    for (struct guarded_slot *slot = hs_guarded; slot < hs_guarded + slots_begun; slot++)
        if (slot->state == GUARDED_LIVE)
            os_decommit((void *)slot_pages(slot), whole_pages(slot->bytes));
    memset(hs_guarded, 0, slots_begun * sizeof *hs_guarded);
    slots_begun = oldest_freed = newest_freed = 0;
}
