/* Extents of free runs: tagged at both ends, taken from the low end, given back to the system in pieces. */
#include "7_large/run_extents.h"

#include "1_base/check.h"
#include "2_system/counters.h"
#include "3_records/heap.h"
#include "2_system/os.h"
#include "7_large/run_pages.h"

void extent_set(uint32_t first, uint32_t length, enum extent_kind kind)
{
    struct page *begin = &hs_runs.page[first];
    struct page *last = &hs_runs.page[first + length - 1];
    begin->extent = last->extent = length;
    begin->holds = last->holds = (uint8_t)kind;
}

void extent_join(uint32_t page)
{
    const struct page *before = &hs_runs.page[page - 1];
    const struct page *behind = &hs_runs.page[page];
    if (before->holds == behind->holds)
        extent_set(page - before->extent, before->extent + behind->extent, behind->holds);
}

uint32_t extents_take(uint32_t first, uint32_t length)
{
    uint32_t committed = 0;
    uint32_t end = first + length;
    for (uint32_t page = first, behind; page < end; page = behind) {
        enum extent_kind kind = hs_runs.page[page].holds;
        behind = page + hs_runs.page[page].extent;
        if (kind == EXTENT_COMMITTED)
            committed += (behind < end ? behind : end) - page;
        if (behind > end)
            extent_set(end, behind - end, kind);
    }
    return committed;
}

bool extents_unseal(uint32_t first, uint32_t length)
{
    uint32_t end = first + length;
    for (uint32_t page = first; page < end; page = extent_end(page, end))
        if (hs_runs.page[page].holds == EXTENT_SEALED && !pages_open(page, extent_end(page, end) - page)) {
            extents_close(first, page - first);
            return false;
        }
    return true;
}

void extents_close(uint32_t first, uint32_t length)
{
    uint32_t end = first + length;
    for (uint32_t page = first; page < end; page = extent_end(page, end))
        if (hs_runs.page[page].holds == EXTENT_SEALED)
            pages_close(page, extent_end(page, end) - page);
}

uint32_t extents_seal(uint32_t first, uint32_t length)
{
    uint32_t open = 0;
    for (uint32_t page = first; page < first + length; page += hs_runs.page[page].extent)
        open += hs_runs.page[page].holds != EXTENT_SEALED ? hs_runs.page[page].extent : 0;
    if (open == 0 || !pages_close(first, length))
        return 0;
    count_shared(&hs_count.releases, 1);
    hs_runs.sealed = true;
    extent_set(first, length, EXTENT_SEALED);
    return open;
}

static bool release_piece(uint32_t first, uint32_t end, bool lazily)
{
    if (first == end)
        return true;
    if (!os_release(hs_runs.start + (size_t)first * PAGE_BYTES, (size_t)(end - first) * PAGE_BYTES, lazily))
        return false;
    count_shared(&hs_count.releases, 1);
    return true;
}

/* The committed extents, each with the rest of its huge pages: the system may have given that with them. In a design that
 * releases lazily a release that is not lazy is of all extents, since the system may not have taken their pages yet.
 * Without a reserved range sealed pages are no mapping: the system fails for a piece that holds any. */
static bool release_pieces(uint32_t first, uint32_t length, bool lazily)
{
    uint32_t end = first + length;
    uint32_t from = first, to = first; /* the piece so far */
    for (uint32_t page = first; page < end; page += hs_runs.page[page].extent) {
        uint32_t behind = page + hs_runs.page[page].extent;
        if (hs_runs.page[page].holds == EXTENT_SEALED && !os_reserving) {
            if (!release_piece(from, to < page ? to : page, lazily))
                return false;
            from = to = behind;
            continue;
        }
        if (hs_runs.page[page].holds != EXTENT_COMMITTED && lazily == RELEASE_LAZILY)
            continue;
        uint32_t begin = page / HUGE_PAGE_PAGES * HUGE_PAGE_PAGES;
        if (begin > to) {
            if (!release_piece(from, to, lazily))
                return false;
            from = begin;
        }
        to = (behind + HUGE_PAGE_PAGES - 1) / HUGE_PAGE_PAGES * HUGE_PAGE_PAGES;
        to = to < end ? to : end;
    }
    return release_piece(from, to, lazily);
}

bool extents_release(uint32_t first, uint32_t length, bool lazily)
{
    if (!release_pieces(first, length, lazily))
        return false;
    for (uint32_t page = first, behind; page < first + length; page = behind) {
        behind = page + hs_runs.page[page].extent;
        if (hs_runs.page[page].holds == EXTENT_COMMITTED)
            extent_set(page, behind - page, EXTENT_RELEASED);
        if (page > first)
            extent_join(page);
    }
    return true;
}

uint32_t extents_check(uint32_t first, uint32_t length)
{
    uint32_t committed = 0;
    uint32_t page = first;
    while (page < first + length) {
        const struct page *begin = &hs_runs.page[page];
        const struct page *last = &hs_runs.page[page + begin->extent - 1];
        check(begin->extent > 0 && page + begin->extent <= first + length, "extents follow each other to the end of a run");
        check(last->extent == begin->extent && last->holds == begin->holds, "an extent's two tags agree");
        check(page == first || hs_runs.page[page - 1].holds != begin->holds, "neighbouring extents of a run differ");
        committed += begin->holds == EXTENT_COMMITTED ? begin->extent : 0;
        page += begin->extent;
    }
    return committed;
}
