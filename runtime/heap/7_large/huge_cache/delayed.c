/* Huge cache "delayed": a FIFO of freed mappings, each with the number of huge blocks that had been freed. */
#include "1_base/check.h"
#include "7_large/huge_cache/huge_cache.h"
#include "5_slab_policies/release/release.h"

static struct huge waiting[HUGE_KEPT_MAPPINGS + 1]; /* the oldest first; one more than may stay */
static uint64_t stamps[HUGE_KEPT_MAPPINGS + 1];
static unsigned mappings;
static size_t held_pages;
static uint64_t freed_ever; /* huge blocks that came to wait */

bool huge_cache_keeps(size_t pages)
{
    return pages <= HUGE_KEPT_BYTES / PAGE_BYTES;
}

void huge_cache_put(struct huge mapping)
{
    check(mappings <= HUGE_KEPT_MAPPINGS, "there is room for one more mapping that waits");
    waiting[mappings] = mapping;
    stamps[mappings++] = ++freed_ever;
    held_pages += mapping.pages;
}

static struct huge leave_cache(unsigned place)
{
    struct huge gone = waiting[place];
    held_pages -= gone.pages;
    mappings--;
    for (unsigned index = place; index < mappings; index++) {
        waiting[index] = waiting[index + 1];
        stamps[index] = stamps[index + 1];
    }
    return gone;
}

struct huge huge_cache_take(size_t pages)
{
    size_t most = pages + pages * HUGE_SLACK_PERCENT / 100;
    for (unsigned place = mappings; place-- > 0;)
        if (waiting[place].pages >= pages && waiting[place].pages <= most)
            return leave_cache(place);
    return (struct huge){ 0 };
}

struct huge huge_cache_gone(bool all)
{
    bool goes = mappings > 0 && (all || release_near_limit() || mappings > HUGE_KEPT_MAPPINGS || held_pages > HUGE_KEPT_BYTES / PAGE_BYTES ||
                             freed_ever - stamps[0] >= HUGE_DELAY);
    return goes ? leave_cache(0) : (struct huge){ 0 };
}

size_t huge_cache_mappings(void)
{
    return mappings;
}

void huge_cache_check(void)
{
    size_t pages = 0;
    for (unsigned place = 0; place < mappings; place++) {
        check(place == 0 || stamps[place - 1] < stamps[place], "the mappings that wait are in the order of their frees");
        pages += waiting[place].pages;
    }
    check(pages == held_pages && mappings <= HUGE_KEPT_MAPPINGS && pages <= HUGE_KEPT_BYTES / PAGE_BYTES,
          "held_pages == pages of the mappings that wait, no more than may");
}
