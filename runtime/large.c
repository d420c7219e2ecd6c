/* Large blocks: runs of pages up to HUGE_BYTES, above that (or for wide alignments) a mapping each. */
#define _GNU_SOURCE
#include "heap.h"
#include "os.h"
#include "runs.h"

#include <errno.h>
#include <pthread.h>
#include <string.h>

/* A huge block; the table is open-addressed by the block's page, linear probing, at most half full. */
struct huge {
    char *start; /* NULL: no entry */
    size_t bytes;
    int64_t ordinal;
};

static pthread_mutex_t large_lock = PTHREAD_MUTEX_INITIALIZER;
static struct huge *table;
static size_t slots; /* a power of two */
static size_t entries;

void hs_large_lock(void)
{
    if (!hs_forking)
        pthread_mutex_lock(&large_lock);
}

void hs_large_unlock(void)
{
    if (!hs_forking)
        pthread_mutex_unlock(&large_lock);
}

bool hs_large_init(size_t span_limit)
{
    slots = 512;
    table = os_map(slots * sizeof *table, 1);
    return table != NULL && runs_init(span_limit);
}

static size_t slot_of(const void *start)
{
    return (((uintptr_t)start / PAGE_BYTES) * UINT64_C(0x9E3779B97F4A7C15) >> 32) & (slots - 1);
}

static struct huge *find(const void *start)
{
    size_t slot = slot_of(start);
    while (table[slot].start != NULL && table[slot].start != start)
        slot = (slot + 1) & (slots - 1);
    return &table[slot];
}

static bool grow_table(void)
{
    struct huge *old = table;
    size_t old_slots = slots;
    struct huge *wider = os_map(2 * old_slots * sizeof *wider, 1);
    if (wider == NULL)
        return false;
    table = wider;
    slots = 2 * old_slots;
    for (size_t slot = 0; slot < old_slots; slot++)
        if (old[slot].start != NULL)
            *find(old[slot].start) = old[slot];
    os_unmap(old, old_slots * sizeof *old);
    return true;
}

/* Backward-shift deletion (Knuth, TAOCP 3, 6.4, algorithm R): no tombstones. */
static void delete(struct huge *entry)
{
    size_t hole = (size_t)(entry - table);
    for (size_t slot = (hole + 1) & (slots - 1); table[slot].start != NULL; slot = (slot + 1) & (slots - 1)) {
        size_t home = slot_of(table[slot].start);
        if (((slot - home) & (slots - 1)) >= ((slot - hole) & (slots - 1))) {
            table[hole] = table[slot];
            hole = slot;
        }
    }
    table[hole].start = NULL;
    entries--;
}

static size_t pages_for(size_t bytes)
{
    return bytes == 0 ? 1 : (bytes + PAGE_BYTES - 1) / PAGE_BYTES;
}

static void *huge_alloc(size_t bytes, size_t alignment)
{
    if (2 * (entries + 1) > slots && !grow_table())
        return NULL;
    bytes = pages_for(bytes) * PAGE_BYTES;
    char *start = os_map(bytes, alignment);
    if (start == NULL)
        return NULL;
    *find(start) = (struct huge){ start, bytes, (int64_t)hs_count.huge_map++ };
    entries++;
    count_committed((int64_t)bytes);
    return start;
}

void *hs_large_alloc(size_t bytes, size_t alignment, bool *zero)
{
    int saved = errno;
    void *block = NULL;
    if (bytes <= PTRDIFF_MAX && hs_started()) {
        hs_large_lock();
        if (bytes <= HUGE_BYTES && alignment <= PAGE_BYTES) {
            block = runs_alloc(pages_for(bytes), zero);
        } else {
            block = huge_alloc(bytes, alignment);
            *zero = true;
        }
        hs_large_unlock();
    }
    errno = block != NULL ? saved : ENOMEM;
    return block;
}

static void huge_free(struct huge *entry)
{
    struct huge gone = *entry;
    delete(entry);
    hs_count.huge_unmap++;
    count_committed(-(int64_t)gone.bytes);
    os_unmap(gone.start, gone.bytes);
}

bool hs_large_free(void *block)
{
    if (!hs_started())
        return false;
    hs_large_lock();
    bool ours = runs_pages(block) > 0;
    if (ours) {
        runs_free(block);
    } else if (find(block)->start == block) {
        huge_free(find(block));
        ours = true;
    }
    hs_large_unlock();
    return ours;
}

size_t hs_large_usable(const void *block)
{
    if (!hs_started())
        return 0;
    hs_large_lock();
    size_t bytes = runs_pages(block) * PAGE_BYTES;
    if (bytes == 0 && find(block)->start == block)
        bytes = find(block)->bytes;
    hs_large_unlock();
    return bytes;
}

static void *huge_resize(struct huge *entry, size_t bytes)
{
    struct huge moved = *entry;
    size_t new_bytes = pages_for(bytes) * PAGE_BYTES;
    if (new_bytes == moved.bytes)
        return moved.start;
    char *start = os_remap(moved.start, moved.bytes, new_bytes);
    if (start == NULL)
        return NULL;
    hs_count.huge_remap++;
    count_committed((int64_t)new_bytes - (int64_t)moved.bytes);
    delete(entry);
    *find(start) = (struct huge){ start, new_bytes, moved.ordinal };
    entries++;
    return start;
}

static void *resize(void *block, size_t bytes)
{
    size_t pages = runs_pages(block);
    if (pages == 0)
        return bytes > HUGE_BYTES ? huge_resize(find(block), bytes) : NULL;
    if (bytes <= SMALL_LIMIT || bytes > HUGE_BYTES)
        return NULL;
    size_t wanted = pages_for(bytes);
    if (wanted > pages)
        return runs_extend(block, wanted) ? block : NULL;
    return 2 * wanted >= pages ? block : NULL;
}

void *hs_large_resize(void *block, size_t bytes)
{
    if (bytes > PTRDIFF_MAX)
        return NULL;
    int saved = errno;
    hs_large_lock();
    void *resized = resize(block, bytes);
    hs_large_unlock();
    errno = saved;
    return resized;
}

int64_t hs_large_locate(const void *block)
{
    if (block == NULL || !hs_started())
        return -1;
    hs_large_lock();
    int64_t code = -1;
    if (runs_pages(block) > 0)
        code = (INT64_C(1) << 60) + runs_number(block);
    else if (find(block)->start == block)
        code = (INT64_C(1) << 61) + find(block)->ordinal;
    hs_large_unlock();
    return code;
}

void hs_large_check(void)
{
    hs_large_lock();
    runs_check();
    hs_large_unlock();
}

bool hs_large_reset(void)
{
    for (size_t slot = 0; slot < slots; slot++)
        if (table[slot].start != NULL)
            os_unmap(table[slot].start, table[slot].bytes);
    memset(table, 0, slots * sizeof *table);
    entries = 0;
    return runs_reset();
}
