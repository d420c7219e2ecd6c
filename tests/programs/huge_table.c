/* The table of huge blocks against a plain list, through widenings that the system grants, refuses, and grants again. Its own
 * memory is counted. */
#include "7_large/huge_table.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BLOCKS = 3000, STEPS = 60000, MOST_MAPPED = 64, MOST_PAGES = 9 };

static bool refuses;
static struct {
    void *start;
    size_t bytes;
} mapped[MOST_MAPPED];

void *os_map(size_t bytes, size_t alignment)
{
    (void)alignment;
    if (refuses)
        return NULL;
    for (unsigned i = 0; i < MOST_MAPPED; i++)
        if (mapped[i].start == NULL) {
            struct huge *start = calloc(1, bytes + sizeof *start);
            start[bytes / sizeof *start].start = (char *)1; /* no entry */
            mapped[i].bytes = bytes;
            return mapped[i].start = start;
        }
    abort();
}

void os_unmap(void *start, size_t bytes)
{
    for (unsigned i = 0; i < MOST_MAPPED; i++)
        if (mapped[i].start == start && mapped[i].bytes == bytes) {
            memset(start, 0xff, bytes);
            free(start);
            mapped[i].start = NULL;
            return;
        }
    puts("unmaps what it does not have");
    abort();
}

static void fails(const char *what)
{
    puts(what);
    exit(1);
}

static struct huge live[BLOCKS];
static size_t count;

static uintptr_t draw(uintptr_t below)
{
    static uint64_t state = 1;
    state = state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (uintptr_t)(state >> 33) % below;
}

static bool is_live(const char *start)
{
    for (size_t i = 0; i < count; i++)
        if (live[i].start == start)
            return true;
    return false;
}

/* Few addresses, so that entries lie one behind the other, and searches go around the end. */
static void step(void)
{
    char *start = (char *)((1 + draw(4 * BLOCKS)) * PAGE_BYTES);
    if (count < BLOCKS && draw(3) != 0 && !is_live(start)) {
        size_t slots = table_slots;
        bool is_full = 2 * (entries + 1) > slots, has_room = table_has_room();
        if (table_slots != (is_full && !refuses ? 2 * slots : slots))
            fails("it is not widened where it is half full");
        if (!has_room)
            return;
        live[count++] = (struct huge){ .start = start, .pages = 1 + draw(MOST_PAGES), .ordinal = (int64_t)draw(1000) };
        insert(live[count - 1]);
    } else if (count > 0) {
        size_t one = draw(count);
        delete (find(live[one].start));
        live[one] = live[--count];
    }
}

static void check_all(void)
{
    uintptr_t from = UINTPTR_MAX, to = 0;
    for (size_t i = 0; i < count; i++) {
        uintptr_t start = (uintptr_t)live[i].start, end = start + live[i].pages * PAGE_BYTES;
        if (memcmp(find(live[i].start), &live[i], sizeof live[i]) != 0)
            fails("an entry is not found");
        from = start < from ? start : from;
        to = end > to ? end : to;
    }
    if (lowest > from || highest < to || lowest == 0 || highest > (5 * BLOCKS + MOST_PAGES) * PAGE_BYTES)
        fails("the bounds do not hold");
    size_t found = 0, held = 0;
    for (size_t slot = 0; slot < table_slots; slot++) {
        found += table[slot].start != NULL;
        if (table[slot].start == NULL && memcmp(&table[slot], &(struct huge){ 0 }, sizeof table[slot]) != 0)
            fails("an empty entry is not zero");
    }
    if (found != count || entries != count)
        fails("the count is wrong");
    for (unsigned i = 0; i < MOST_MAPPED; i++)
        held += mapped[i].start != NULL ? mapped[i].bytes : 0;
    if (held != (table == first_table ? 0 : table_slots * sizeof *table))
        fails("it has other memory than the table's");
}

/* Neighbours, as the system maps them, have slots of their own, by and large. */
static void check_slots(void)
{
    static bool is_taken[FIRST_SLOTS];
    size_t taken = 0;
    for (uintptr_t page = 1; page <= FIRST_SLOTS; page++) {
        size_t slot = slot_of((void *)(page * PAGE_BYTES));
        taken += !is_taken[slot];
        is_taken[slot] = true;
    }
    if (taken < FIRST_SLOTS * 9 / 16)
        fails("many blocks have the same slot");
}

int main(void)
{
    check_slots();
    struct huge one = { .start = (char *)(7 * PAGE_BYTES), .pages = 3 };
    insert(one);
    printf("%zu to %zu\n", (size_t)(lowest / PAGE_BYTES), (size_t)(highest / PAGE_BYTES));
    delete (find(one.start));
    refuses = true;
    for (int i = 0; i < STEPS / 10; i++)
        step();
    check_all();
    printf("%zu slots, %zu entries without more memory\n", table_slots, count);
    refuses = false;
    for (int i = 0; i < STEPS; i++) {
        step();
        if (i % 500 == 0)
            check_all();
    }
    check_all();
    printf("%zu slots, %zu entries\n", table_slots, count);
    while (count > 0) {
        delete (find(live[--count].start));
        if (count % 100 == 0)
            check_all();
    }
    return 0;
}
