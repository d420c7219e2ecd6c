/* glibc's heaps, chunk by chunk. Nothing here allocates by malloc, whose heaps it reads.
 *
 * What is taken as known: a chunk begins 16 bytes before its block; its second word is its size, whose low bits say that the
 * chunk before is in use (1) and that it is a mapping (2). A heap of another arena than the main one begins at a multiple of
 * 64 MiB with the words arena, previous heap, bytes. Who calls this compares the sums with mallinfo2. */
#define _GNU_SOURCE
#include "chunks.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum {
    HEADER_BYTES = 16,
    BEFORE_IN_USE = 1,
    IS_MAPPING = 2,
    FLAGS = 7,
    GRAIN = 16,
    FENCE_BYTES = 16,
    MOST_TAIL = 64, /* of a heap that its arena has filled: a fence and a chunk of size 0 */
    MOST_HEAD = PAGE_BYTES,
    MOST_HEAPS = 4096
};

#define HEAP_SPAN ((uintptr_t)64 << 20)

/* present: a byte per page, whose lowest bit is mincore's. */
struct heap {
    uintptr_t start, first, end; /* first: of its chunks */
    bool is_main;
    unsigned char *present;
};

static struct heap heaps[MOST_HEAPS];
static size_t heap_count;

static uint64_t word_at(uintptr_t address)
{
    return *(const uint64_t *)address;
}

static uint64_t size_at(uintptr_t chunk)
{
    return word_at(chunk + sizeof(uint64_t)) & ~(uint64_t)FLAGS;
}

static void *own_memory(uint64_t bytes)
{
    void *memory = mmap(NULL, bytes + 1, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED)
        fail(2, "replay: bytes: %lu bytes: %s", bytes, strerror(errno));
    return memory;
}

static uintptr_t page_of(uintptr_t address)
{
    return address / PAGE_BYTES * PAGE_BYTES;
}

/* ---- which pages are there ---- */

static unsigned char *look_at_pages(uintptr_t start, uintptr_t end)
{
    uintptr_t page = page_of(start);
    unsigned char *present = own_memory((end - page) / PAGE_BYTES + 1);
    if (mincore((void *)page, end - page, present) != 0)
        fail(2, "replay: bytes: mincore: %s", strerror(errno));
    return present;
}

/* Of the bytes from `begin` to `end`, in pages that `present` knows from `start` on. */
static uint64_t resident(const unsigned char *present, uintptr_t start, uintptr_t begin, uintptr_t end)
{
    uint64_t sum = 0;
    for (uintptr_t at = begin; at < end;) {
        uintptr_t behind = page_of(at) + PAGE_BYTES < end ? page_of(at) + PAGE_BYTES : end;
        if (present[(page_of(at) - page_of(start)) / PAGE_BYTES] & 1)
            sum += behind - at;
        at = behind;
    }
    return sum;
}

/* A block may use the first word of the chunk behind its own, so that a chunk has the bytes from its second word to that word.
 * The last chunk gets the heap's first word instead. */
static void add(struct part *part, const struct heap *heap, uintptr_t begin, uintptr_t end)
{
    const uintptr_t word = sizeof(uint64_t);
    part->bytes += end - begin;
    part->resident += resident(heap->present, heap->start, begin + word, end == heap->end ? end : end + word);
    if (end == heap->end)
        part->resident += resident(heap->present, heap->start, heap->start, heap->start + word);
}

static void add_live(struct tally *tally, const struct heap *heap, uintptr_t chunk, uintptr_t next, const struct block *block)
{
    uintptr_t begin = chunk + HEADER_BYTES, end = begin + block->bytes;
    uint64_t asked = resident(heap->present, heap->start, begin, end);
    tally->asked.bytes += block->bytes;
    tally->asked.resident += asked;
    add(&tally->rounding, heap, chunk, next);
    tally->rounding.bytes -= block->bytes;
    tally->rounding.resident -= asked;
}

/* ---- where heaps and their chunks begin ---- */

/* Do the sizes from here on lead to the end of the heap? */
static bool leads_to_end(const struct heap *heap, uintptr_t chunk)
{
    if (!(word_at(chunk + sizeof(uint64_t)) & BEFORE_IN_USE))
        return false;
    while (chunk + HEADER_BYTES <= heap->end) {
        uint64_t size = size_at(chunk);
        if (size == 0)
            return heap->end - chunk <= MOST_TAIL;
        if (size % GRAIN != 0 || size > heap->end - chunk)
            return false;
        chunk += size;
        if (chunk == heap->end)
            return true;
    }
    return false;
}

static bool add_heap(uintptr_t start, uintptr_t end, bool is_main)
{
    if (heap_count == MOST_HEAPS)
        return false;
    struct heap *heap = &heaps[heap_count];
    *heap = (struct heap){.start = start, .end = end, .is_main = is_main, .first = start};
    while (!leads_to_end(heap, heap->first)) {
        heap->first += GRAIN;
        if (heap->first > start + MOST_HEAD || heap->first + HEADER_BYTES > end)
            return true; /* no heap after all: who compares the sums notices if it was one */
    }
    if (is_main) /* the break need not begin with a page */
        heap->start = heap->first;
    heap->present = look_at_pages(heap->start, end);
    heap_count++;
    return true;
}

/* Heaps of other arenas in an anonymous mapping. */
static bool add_others(uintptr_t start, uintptr_t end)
{
    for (uintptr_t at = (start + HEAP_SPAN - 1) / HEAP_SPAN * HEAP_SPAN; at < end; at += HEAP_SPAN) {
        uint64_t arena = word_at(at), bytes = word_at(at + 16);
        bool plausible = arena % HEAP_SPAN < MOST_HEAD && arena > 0 && bytes > 0 && bytes % PAGE_BYTES == 0;
        if (plausible && bytes <= end - at && !add_heap(at, at + bytes, false))
            return false;
    }
    return true;
}

/* The text of /proc/self/maps, proc_pid_maps(5). */
static const char *read_maps(void)
{
    uint64_t room = (uint64_t)64 << 20, used = 0;
    char *text = own_memory(room);
    int file = open("/proc/self/maps", O_RDONLY | O_CLOEXEC);
    ssize_t n = file < 0 ? -1 : 1;
    while (n > 0 && used < room)
        used += (uint64_t)(n = read(file, text + used, room - used)) > 0 ? (uint64_t)n : 0;
    if (n < 0)
        fail(2, "replay: /proc/self/maps: %s", strerror(errno));
    close(file);
    return text;
}

bool chunks_find(void)
{
    uintptr_t brk = (uintptr_t)sbrk(0);
    bool room = true;
    for (const char *line = read_maps(); room && *line != '\0'; line = strchr(line, '\n') + 1) {
        uintptr_t start, end;
        unsigned long inode = 1;
        char rights[5] = "", name[8] = "";
        int fields = sscanf(line, "%lx-%lx %4s %*x %*s %lu%*[ ]%7[^\n]", &start, &end, rights, &inode, name);
        if (fields < 4 || strcmp(rights, "rw-p") != 0 || inode != 0)
            continue;
        if (strcmp(name, "[heap]") == 0)
            room = add_heap(start, brk, true);
        else if (fields == 4)
            room = add_others(start, end);
    }
    return room;
}

/* ---- live blocks by address: open addressing, half full at most ---- */

struct live {
    const struct block *table;
    uint64_t mask;
    uint32_t *slot; /* 1 + the block's in the table; 0: none */
};

static uint64_t place_of(const struct live *live, uintptr_t block)
{
    return (block / GRAIN * 0x9E3779B97F4A7C15ull >> 20) & live->mask;
}

static struct live find_live(const struct block *table, uint64_t slots)
{
    uint64_t places = 64, blocks = 0;
    for (uint64_t slot = 0; slot < slots; slot++)
        blocks += table[slot].address != NULL;
    while (places < 2 * blocks)
        places *= 2;
    struct live live = {.table = table, .mask = places - 1, .slot = own_memory(places * sizeof *live.slot)};
    for (uint64_t slot = 0; slot < slots; slot++) {
        if (table[slot].address == NULL)
            continue;
        uint64_t place = place_of(&live, (uintptr_t)table[slot].address);
        while (live.slot[place] != 0)
            place = (place + 1) & live.mask;
        live.slot[place] = (uint32_t)slot + 1;
    }
    return live;
}

static const struct block *live_at(const struct live *live, uintptr_t address)
{
    uint64_t place = place_of(live, address);
    while (live->slot[place] != 0) {
        const struct block *block = &live->table[live->slot[place] - 1];
        if ((uintptr_t)block->address == address)
            return block;
        place = (place + 1) & live->mask;
    }
    return NULL;
}

/* ---- the sums ---- */

/* The blocks of a heap that are live: how many. */
static uint64_t tally_heap(const struct heap *heap, const struct live *live, struct tally *tally)
{
    uint64_t blocks = 0;
    uintptr_t chunk = heap->first, end = heap->end;
    if (heap->start < heap->first)
        add(&tally->heads, heap, heap->start, heap->first);
    while (chunk < end && size_at(chunk) > 0) {
        uintptr_t next = chunk + size_at(chunk);
        const struct block *block = live_at(live, chunk + HEADER_BYTES);
        if (block != NULL) {
            blocks++;
            add_live(tally, heap, chunk, next, block);
        } else if (next == end) {
            add(&tally->top, heap, chunk, next);
        } else if (next - chunk == FENCE_BYTES) {
            add(&tally->heads, heap, chunk, next);
        } else {
            bool in_use = word_at(next + sizeof(uint64_t)) & BEFORE_IN_USE;
            add(in_use ? &tally->other : &tally->freed, heap, chunk, next);
        }
        chunk = next;
    }
    if (chunk < end)
        add(&tally->heads, heap, chunk, end);
    return blocks;
}

/* A live block with a mapping of its own; its chunk's first word is the distance from the mapping's start. */
static void tally_mapping(const struct block *block, struct tally *tally)
{
    uintptr_t begin = (uintptr_t)block->address, chunk = begin - HEADER_BYTES;
    struct heap mapping = {.start = chunk - word_at(chunk), .end = chunk + size_at(chunk)};
    mapping.present = look_at_pages(mapping.start, mapping.end);
    uint64_t asked = resident(mapping.present, mapping.start, begin, begin + block->bytes);
    tally->mapped_asked.bytes += block->bytes;
    tally->mapped_asked.resident += asked;
    tally->mapped_rounding.bytes += mapping.end - mapping.start - block->bytes;
    tally->mapped_rounding.resident += resident(mapping.present, mapping.start, mapping.start, mapping.end) - asked;
    munmap(mapping.present, (mapping.end - mapping.start) / PAGE_BYTES + 2);
}

bool chunks_tally(const struct block *table, uint64_t slots, struct tally *tally)
{
    struct live live = find_live(table, slots);
    uint64_t blocks = 0, found = 0;
    *tally = (struct tally){0};
    for (uint64_t slot = 0; slot < slots; slot++) {
        const struct block *block = &table[slot];
        if (block->address == NULL)
            continue;
        if (word_at((uintptr_t)block->address - sizeof(uint64_t)) & IS_MAPPING)
            tally_mapping(block, tally);
        else
            blocks++;
    }
    for (size_t index = 0; index < heap_count; index++) {
        struct heap now = heaps[index];
        now.end = now.is_main ? (uintptr_t)sbrk(0) : now.end;
        if (!leads_to_end(&now, now.first))
            return false;
        found += tally_heap(&now, &live, tally);
    }
    return found == blocks;
}
