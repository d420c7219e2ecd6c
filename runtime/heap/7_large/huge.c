/* Huge blocks: mapped, remapped and unmapped one by one; a hash table from address to mapping. */
#include "7_large/huge.h"

#include "4_blocks/hardening/hardening.h"
#include "3_records/heap.h"
#include "7_large/huge_cache/huge_cache.h"
#include "7_large/huge_place.h"
#include "7_large/huge_table.h"
#include "2_system/locks.h"
#include "2_system/os.h"
#include "2_system/thp/thp.h"
#include "5_slab_policies/release/release.h"

#include <string.h>

enum { NEW = -1 };

const void *const hs_huge_table[2] = { &table, &table_slots };

static void count_pages(int64_t by)
{
    count_shared(&hs_huge_committed, (uint64_t)by * PAGE_BYTES);
    count_committed(by * PAGE_BYTES);
}

/* A mapping that is new, or waited, becomes a block. huge_narrow cannot have found what was mapped before and enters later. */
static bool enter(struct huge block)
{
    hs_lock_large();
    count_locks(LOCKS_HUGE_TAKE);
    bool entered = table_has_room();
    if (entered) {
        if (!os_reserving)
            block.narrow = hardening_narrow(block.start, block.pages * PAGE_BYTES, block.narrow);
        uint64_t *counter = block.ordinal == NEW ? &hs_count.huge_map : &hs_count.huge_reuse;
        if (block.ordinal == NEW)
            block.ordinal = (int64_t)hs_count.huge_map;
        block.mark = block.sampled = 0;
        insert(block);
        count_own(counter, 1);
    }
    hs_unlock_large();
    return entered;
}

/* The mapping leaves the process. If munmap fails (it would split a mapping, and the process has too many), its address space
 * is lost. */
static void unmap(struct huge gone)
{
    count_pages(-(int64_t)gone.pages);
    hardening_unmap(gone.start, huge_place_bytes(gone), gone.narrow);
}

/* Under the large lock. */
static void count_unmap(size_t pages)
{
    count_own(&hs_count.huge_unmap, 1);
    release_freed(pages * PAGE_BYTES);
}

/* A freed mapping waits, unless it has no start. Mappings that waited too long go, or all of them; bytes. The mapping comes and
 * the oldest goes in one hold of the lock: there is room for one more than may stay. */
static size_t unmap_waiting(struct huge freed, bool all)
{
    size_t bytes = 0;
    struct huge gone;
    do {
        hs_lock_large();
        if (freed.start != NULL)
            huge_cache_put(freed);
        freed.start = NULL;
        gone = huge_cache_gone(all);
        if (gone.start != NULL)
            count_unmap(gone.pages);
        hs_unlock_large();
        if (gone.start != NULL)
            unmap(gone);
        bytes += gone.pages * PAGE_BYTES;
    } while (gone.start != NULL);
    return bytes;
}

/* Without a tail: the guard lies behind the last page. With hardening no page holds a block of no bytes. */
static size_t pages_needed(size_t bytes)
{
    size_t pages = (bytes + PAGE_BYTES - 1) / PAGE_BYTES;
    return pages > 0 || LIVE_MAP ? pages : 1;
}

static size_t slack_for(size_t bytes)
{
    return TAIL_BYTES > 0 ? pages_needed(bytes) * PAGE_BYTES - bytes : 0;
}

static char *slack_start(const struct huge *block)
{
    return block->start + block->pages * PAGE_BYTES - block->slack;
}

/* A block in a mapping that waited, cut to as many pages as the bytes need; NULL if none fits. */
static void *reuse(size_t bytes)
{
    size_t pages = pages_needed(bytes);
    hs_lock_large();
    count_locks(LOCKS_HUGE_TAKE);
    struct huge found = huge_cache_take(pages);
    if (found.pages > pages)
        count_own(&hs_count.huge_remap, 1);
    hs_unlock_large();
    if (found.start == NULL)
        return NULL;
    size_t more = found.pages - pages;
    if (more > 0 && huge_place_resize(&found, pages))
        count_pages(-(int64_t)more);
    found.slack = slack_for(bytes);
    if (found.pages == pages && enter(found))
        return found.start;
    hs_lock_large();
    count_locks(LOCKS_OTHER);
    count_unmap(found.pages);
    hs_unlock_large();
    unmap(found);
    return NULL;
}

static void advise_mapping(char *start, size_t pages)
{
    thp_advise(start, pages * PAGE_BYTES, thp_mapping());
}

static void *map(size_t bytes, size_t alignment)
{
    bool narrow = false;
    size_t pages = pages_needed(bytes);
    char *start = hardening_map(pages * PAGE_BYTES, alignment, &narrow);
    if (start == NULL)
        return NULL;
    if (!enter((struct huge){ .start = start, .pages = pages, .ordinal = NEW, .narrow = narrow, .slack = slack_for(bytes) })) {
        hardening_unmap(start, pages * PAGE_BYTES, narrow);
        return NULL;
    }
    advise_mapping(start, pages);
    count_pages((int64_t)pages);
    return start;
}

/* If it is refused after the pages went, they come back: then the caller copies them to another run. */
void *huge_take_over(void *run, size_t run_pages, size_t bytes)
{
    size_t pages = pages_needed(bytes), run_bytes = run_pages * PAGE_BYTES;
    struct huge block = { .start = os_move(run, run_bytes), .pages = run_pages, .ordinal = NEW };
    if (block.start == NULL)
        return NULL;
    if (!huge_place_resize(&block, pages) || !enter(block)) {
        hs_copy_any(run, block.start, run_bytes, hs_any_size()); /* its pages are no block meanwhile */
        os_unmap(block.start, huge_place_bytes(block));
        return NULL;
    }
    advise_mapping(block.start, pages);
    count_committed(-(int64_t)run_bytes);
    count_pages((int64_t)pages);
    return block.start;
}

void *huge_alloc(size_t bytes, size_t alignment, bool *zero)
{
    char *start = alignment <= PAGE_BYTES ? reuse(bytes) : NULL;
    *zero = start == NULL;
    if (start == NULL)
        start = map(bytes, alignment);
    if (start != NULL)
        hardening_fill(start + bytes, slack_for(bytes));
    return start;
}

/* A copy of the block's entry; no start: it is no huge block. */
static struct huge look_up(const void *block)
{
    hs_lock_large();
    struct huge found = *find(block);
    hs_unlock_large();
    return found;
}

/* The entry itself, which leaves the table; counted, unless the mapping will wait. */
static struct huge take_huge(const void *block)
{
    hs_lock_large();
    count_locks(LOCKS_HUGE_GIVE);
    struct huge *entry = find(block);
    struct huge taken = *entry;
    if (taken.start != NULL) {
        delete(entry);
        if (!huge_cache_keeps(taken.pages))
            count_unmap(taken.pages);
    }
    hs_unlock_large();
    return taken;
}

/* The entry goes first: of two frees one finds it, and the system cannot give the address to another before. */
bool huge_free(void *block)
{
    struct huge gone = take_huge(block);
    if (gone.start == NULL)
        return false;
    hardening_unfill(block, slack_start(&gone), gone.slack);
    if (huge_cache_keeps(gone.pages)) {
        huge_place_cut(&gone);
        unmap_waiting(gone, false);
        count_locks(LOCKS_HUGE_GIVE);
    } else {
        unmap(gone);
    }
    return true;
}

size_t huge_trim(bool all)
{
    size_t bytes = unmap_waiting((struct huge){ 0 }, all);
    count_locks(all ? LOCKS_OTHER : LOCKS_LOOK);
    return bytes;
}

void huge_narrow(void)
{
    for (struct huge *block = table; block < table + table_slots; block++)
        if (block->start != NULL) {
            huge_place_cut(block);
            block->narrow = hardening_narrow(block->start, block->pages * PAGE_BYTES, block->narrow);
        }
}

size_t huge_pages(const void *block)
{
    struct huge found = look_up(block);
    count_locks(LOCKS_ASK);
    return found.pages;
}

size_t huge_bytes(const void *block)
{
    struct huge found = look_up(block);
    count_locks(LOCKS_ASK);
    return found.pages * PAGE_BYTES - found.slack;
}

int64_t huge_ordinal(const void *block)
{
    struct huge found = look_up(block);
    count_locks(LOCKS_ASK);
    return found.start != NULL ? found.ordinal : -1;
}

uint8_t huge_mark(const void *block)
{
    struct huge found = look_up(block);
    count_locks(LOCKS_ASK);
    return found.mark;
}

void huge_set_mark(const void *block, uint8_t mark)
{
    hs_lock_large();
    count_locks(LOCKS_ASK);
    struct huge *entry = find(block);
    if (entry->start != NULL)
        entry->mark = mark;
    hs_unlock_large();
}

bool huge_set_sample(const void *block, bool is)
{
    hs_lock_large();
    count_locks(LOCKS_ASK);
    struct huge *entry = find(block);
    bool changes = entry->start != NULL && entry->sampled != is;
    if (changes)
        entry->sampled = is;
    hs_unlock_large();
    return changes;
}

/* Under the lock throughout: the old address may be another block's as soon as the mapping has moved. */
static char *remap(const void *block, size_t bytes)
{
    size_t pages = pages_needed(bytes);
    hs_lock_large();
    count_locks(LOCKS_HUGE_RESIZE);
    struct huge *entry = find(block);
    struct huge moved = *entry;
    bool resizes = moved.pages != pages;
    bool done = moved.start != NULL && (!resizes || huge_place_resize(&moved, pages));
    moved.slack = slack_for(bytes);
    if (done) {
        delete(entry);
        insert(moved);
        count_own(&hs_count.huge_remap, resizes);
    }
    hs_unlock_large();
    return done ? moved.start : NULL;
}

void *huge_resize(void *block, size_t bytes)
{
    struct huge old = look_up(block);
    count_locks(LOCKS_HUGE_RESIZE);
    if (old.pages == 0)
        return NULL;
    hardening_unfill(block, slack_start(&old), old.slack);
    char *start = remap(block, bytes);
    if (start == NULL)
        return NULL;
    if (old.pages != pages_needed(bytes))
        count_pages((int64_t)pages_needed(bytes) - (int64_t)old.pages);
    hardening_fill(start + bytes, slack_for(bytes));
    return start;
}

/* Asked about pointers that are no block. All of the table, but only for addresses where huge blocks were, and only where
 * somebody stops at such a pointer: else a program that frees many of another allocator's would pay for it each time. */
bool huge_holds(const void *address)
{
    if (!STOPS && !HEAPSMITH_CHECKED)
        return false;
    bool holds = false;
    hs_lock_large();
    count_locks(LOCKS_ASK);
    if ((uintptr_t)address >= lowest && (uintptr_t)address < highest)
        for (size_t slot = 0; slot < table_slots && !holds; slot++)
            holds = table[slot].start != NULL &&
                    (uintptr_t)address - (uintptr_t)table[slot].start < table[slot].pages * PAGE_BYTES;
    hs_unlock_large();
    return holds;
}

void huge_census(size_t *bytes, size_t *blocks)
{
    hs_lock_large();
    count_locks(LOCKS_OTHER);
    *bytes = 0;
    for (size_t slot = 0; slot < table_slots; slot++)
        *bytes += table[slot].start != NULL ? table[slot].pages * PAGE_BYTES : 0;
    *blocks = entries;
    hs_unlock_large();
}

void huge_check(void)
{
    size_t found = 0;
    hs_lock_large();
    count_locks(LOCKS_OTHER);
    huge_cache_check();
    for (size_t slot = 0; slot < table_slots; slot++) {
        const struct huge *entry = &table[slot];
        if (entry->start == NULL)
            continue;
        found++;
        check(find(entry->start) == entry, "a huge block is found in the table");
        check((LIVE_MAP || entry->pages > 0) && entry->ordinal < (int64_t)hs_count.huge_map,
              "a huge block has an ordinal, and pages unless it has no bytes");
        check((uintptr_t)entry->start >= lowest && (uintptr_t)entry->start + entry->pages * PAGE_BYTES <= highest,
              "huge blocks lie between the lowest and the highest ever");
    }
    check(found == entries && entries < table_slots, "entries == huge blocks < table_slots");
    check(hs_count.huge_map - hs_count.huge_unmap == entries + huge_cache_mappings(),
          "huge_map - huge_unmap == entries and mappings that wait");
    hs_unlock_large();
}

void huge_reset(void)
{
    for (struct huge gone = huge_cache_gone(true); gone.start != NULL; gone = huge_cache_gone(true))
        hardening_unmap(gone.start, gone.pages * PAGE_BYTES, gone.narrow);
    for (size_t slot = 0; slot < table_slots; slot++)
        if (table[slot].start != NULL)
            hardening_unmap(table[slot].start, huge_place_bytes(table[slot]), table[slot].narrow);
    if (table != first_table)
        os_unmap(table, table_slots * sizeof *table);
    table = first_table;
    table_slots = FIRST_SLOTS;
    memset(first_table, 0, sizeof first_table);
    entries = 0;
    hs_huge_committed = 0;
    lowest = UINTPTR_MAX;
    highest = 0;
}
