/* Guards around huge blocks: address space only, so that an access up to HUGE_GUARD_BYTES off a block ends the program. They
 * are narrow, a page, where a limit on address space counts them. The address space of freed blocks is held back for a while,
 * so that the next mapping lies elsewhere. */
#define _GNU_SOURCE
#include "4_blocks/hardening/guards.h"

#include "1_base/counting/counting.h"
#include "4_blocks/hardening/hardening.h"
#include "2_system/os.h"

#include <errno.h>
#include <sys/mman.h>

/* FIFO of the freed mappings that are address space still: number of the first page << PAGES_BITS | pages; 0: none. Any
 * thread puts its own in the place of the oldest. */
enum { HELD = 64, PAGES_BITS = 20 };
static uint64_t held_back[HELD];
static unsigned oldest_held_back;

static bool is_reserving(void)
{
    return __atomic_load_n(&os_reserving, __ATOMIC_SEQ_CST);
}

static size_t guard_of(bool narrow)
{
    return narrow ? PAGE_BYTES : HUGE_GUARD_BYTES;
}

/* Address space for a block between two guards, which no access may touch; the block's place, or NULL. flags: of mmap. */
static char *guarded(size_t bytes, size_t alignment, int flags, bool *narrow)
{
    *narrow = !is_reserving() || os_limited();
    size_t slack = alignment > PAGE_BYTES ? alignment : 0, guard = guard_of(*narrow);
    size_t room = bytes + slack + 2 * guard;
    if (room < bytes) /* each of the first two is 2^63 at most, so it wraps once */
        return NULL;
    count_system(COUNT_MMAP);
    char *start = mmap(NULL, room, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | flags, -1, 0);
    os_refused = start == MAP_FAILED;
    if (os_refused)
        return NULL;
    size_t before = -((uintptr_t)start + guard) & (alignment - 1);
    if (before != 0)
        os_unmap(start, before);
    if (slack > before)
        os_unmap(start + room - (slack - before), slack - before);
    return start + before + guard;
}

static void unmap_guarded(uintptr_t start, size_t bytes, bool narrow)
{
    os_unmap((void *)(start - guard_of(narrow)), bytes + 2 * guard_of(narrow));
}

/* Of what was held back, 0: nothing; the bytes of address space that it was. */
static size_t let_go(uint64_t held)
{
    if (held == 0)
        return 0;
    size_t bytes = held % (UINT64_C(1) << PAGES_BITS) * PAGE_BYTES;
    unmap_guarded((held >> PAGES_BITS) * PAGE_BYTES, bytes, false);
    return bytes + 2 * HUGE_GUARD_BYTES;
}

/* Longer mappings go at once, and all under a limit on address space. One that is held back just when the limit is noticed
 * goes too: either hardening_vacate finds it, or it finds that nothing is reserved any more. */
void hardening_unmap(void *start, size_t bytes, bool narrow)
{
    uint64_t pages = bytes / PAGE_BYTES;
    bool goes = pages >> PAGES_BITS != 0 || narrow || os_limited() || !is_reserving();
    if (goes || (pages > 0 && !os_reserve(start, bytes))) {
        unmap_guarded((uintptr_t)start, bytes, narrow);
        return;
    }
    unsigned place = __atomic_fetch_add(&oldest_held_back, 1, __ATOMIC_RELAXED) % HELD;
    uint64_t held_now = (uintptr_t)start / PAGE_BYTES << PAGES_BITS | pages;
    let_go(__atomic_exchange_n(&held_back[place], held_now, __ATOMIC_SEQ_CST));
    if (!is_reserving())
        hardening_vacate();
}

size_t hardening_vacate(void)
{
    size_t bytes = 0;
    for (unsigned place = 0; place < HELD; place++)
        bytes += let_go(__atomic_exchange_n(&held_back[place], 0, __ATOMIC_SEQ_CST));
    return bytes;
}

bool hardening_narrow(char *start, size_t bytes, bool narrow)
{
    if (narrow)
        return true;
    size_t lost = guard_of(false) - guard_of(true);
    os_unmap(start - guard_of(false), lost);
    os_unmap(start + bytes + guard_of(true), lost);
    return true;
}

void *hardening_map(size_t bytes, size_t alignment, bool *narrow)
{
    char *start = guarded(bytes, alignment, 0, narrow);
    if (start == NULL || bytes == 0) /* emulators refuse to protect nothing */
        return start;
    if (os_allow(start, bytes))
        return start;
    os_refused = true;
    unmap_guarded((uintptr_t)start, bytes, *narrow);
    return NULL;
}

/* The place of a move that was refused. The system may have unmapped it between its guards, and another thread's mapping may
 * lie there by now. It is all ours if it is one mapping still: else the system does not grow it by a page, but says EFAULT.
 * A mapping of hardening_map does not become one with the guards, which have MAP_NORESERVE, unless the system ignores that
 * (overcommit 2). Nor can it be told from ours what fills the hole exactly in between and is as inaccessible as guards. */
static void unmap_refused(char *block, size_t bytes, size_t behind, bool narrow)
{
    size_t guard = guard_of(narrow), room = bytes + behind + 2 * guard;
    char *start = block - guard;
    count_system(COUNT_MREMAP);
    bool grew = mremap(start, room, room + PAGE_BYTES, 0) != MAP_FAILED;
    if (!grew && errno == EFAULT) {
        os_unmap(start, guard);
        os_unmap(block + bytes, behind + guard);
        return;
    }
    os_unmap(start, grew ? room + PAGE_BYTES : room);
}

/* The pages move between two new guards. Those that a shorter block lacks stay, until the others have moved. Pages that were
 * room are a mapping of their own: they are copied, each once in a block's growth. */
void *hardening_remap(void *start, struct huge_place old, size_t new_bytes, size_t new_room, bool *narrow)
{
    bool now_narrow;
    size_t old_guard = guard_of(*narrow), whole = old.bytes - old.grown, moving = whole < new_bytes ? whole : new_bytes;
    size_t kept = old.bytes < new_bytes ? old.bytes : new_bytes;
    char *moved = guarded(new_bytes + new_room, PAGE_BYTES, MAP_NORESERVE, &now_narrow);
    if (moved == NULL)
        return NULL;
    count_system(COUNT_MREMAP);
    if (mremap(start, moving, new_bytes, MREMAP_MAYMOVE | MREMAP_FIXED, moved) == MAP_FAILED) {
        unmap_refused(moved, new_bytes, new_room, now_narrow);
        return NULL;
    }
    os_copy(moved + moving, (char *)start + moving, kept - moving);
    os_unmap((char *)start - old_guard, old_guard);
    os_unmap((char *)start + moving, old.bytes - moving + old.room + old_guard);
    *narrow = now_narrow;
    return moved;
}

bool hardening_grow(void *room, size_t bytes)
{
    return os_allow(room, bytes);
}

/* What is behind the guard that begins where the room did. */
void hardening_cut(void *room, size_t bytes, bool narrow)
{
    os_unmap((char *)room + guard_of(narrow), bytes);
}
