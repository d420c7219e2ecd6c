/* The table of huge blocks: from address to mapping. For huge.c alone. */
#pragma once

#include "7_large/huge_cache/huge_cache.h"
#include "2_system/os.h"

enum { FIRST_SLOTS = 256 };

/* The table is open-addressed by the block's page, linear probing, half full until it cannot grow; where there is no block,
 * all of the entry is zero. Under the large lock. entries < table_slots: a search ends. Every mapping ever lay in [lowest, highest). */
COLD_DATA static struct huge first_table[FIRST_SLOTS];
static struct huge *table = first_table;
static size_t entries, table_slots = FIRST_SLOTS; /* a power of two */
static uintptr_t lowest = UINTPTR_MAX, highest;

static size_t slot_of(const void *start)
{
    return (((uintptr_t)start / PAGE_BYTES) * UINT64_C(0x9E3779B97F4A7C15) >> 32) & (table_slots - 1);
}

/* The block's entry, or the empty one where it would go. */
static struct huge *find(const void *start)
{
    size_t slot = slot_of(start);
    while (table[slot].start != NULL && table[slot].start != start)
        slot = (slot + 1) & (table_slots - 1);
    return &table[slot];
}

/* Without memory for a wider table it stays as it is, and fills up. */
static void grow_table(void)
{
    struct huge *wider = os_map(2 * table_slots * sizeof *wider, PAGE_BYTES);
    if (wider == NULL)
        return;
    const struct huge *old = table;
    size_t old_slots = table_slots;
    table = wider;
    table_slots = 2 * old_slots;
    for (size_t slot = 0; slot < old_slots; slot++)
        if (old[slot].start != NULL)
            *find(old[slot].start) = old[slot];
    if (old != first_table)
        os_unmap((void *)old, old_slots * sizeof *old);
}

static bool table_has_room(void)
{
    if (2 * (entries + 1) > table_slots)
        grow_table();
    return entries + 1 < table_slots;
}

static void insert(struct huge entry)
{
    uintptr_t start = (uintptr_t)entry.start, end = start + entry.pages * PAGE_BYTES;
    *find(entry.start) = entry;
    entries++;
    lowest = start < lowest ? start : lowest;
    highest = end > highest ? end : highest;
}

/* Backward-shift deletion (Knuth, TAOCP 3, 6.4, algorithm R): no tombstones. */
static void delete(struct huge *entry)
{
    size_t hole = (size_t)(entry - table);
    for (size_t slot = (hole + 1) & (table_slots - 1); table[slot].start != NULL; slot = (slot + 1) & (table_slots - 1)) {
        size_t home = slot_of(table[slot].start);
        if (((slot - home) & (table_slots - 1)) >= ((slot - hole) & (table_slots - 1))) {
            table[hole] = table[slot];
            hole = slot;
        }
    }
    table[hole] = (struct huge){ 0 };
    entries--;
}
