/* The hit paths of this heap: malloc and free, and a straight-line alloc and free per size class.
 *
 * Emitted by heapsmith 0.1.0 from design "lean", content hash f18ad4c2b357.
 * Do not edit: change the design, then run: heapsmith generate lean -o DIR
 */
/* What heap.c defines is in this library: it is reached without a load of its address. */
#pragma GCC visibility push(hidden)
#include "9_api/api.h"
#include "9_api/operator_new.h"
#include "8_threads/front/linked_list.h"
#include "8_threads/front/own_list.h"
#include "4_blocks/classifier/classifier.h"
#include "5_slab_policies/remote/remote.h"
#include "4_blocks/hardening/hardening.h"
#include "9_api/foreign/foreign.h"
#include "9_api/foreign/elsewhere.h"
#include "3_records/lookup/heap_table.h"
#include "5_slab_policies/ownership/ownership.h"
#include "5_slab_policies/ownership/slab.h"
#include "3_records/segregation/segregation.h"
#include "3_records/segregation/off.h"
#include "9_api/sampling/off.h"
#include HEAPS_ROW
#include "8_threads/large.h"
#include "3_records/span.h"
#include "8_threads/thread.h"
#pragma GCC visibility pop

/* 16-byte blocks for requests of 0 to 16 bytes: at most 16 bytes unused inside, 256 blocks a slab.
 * Linked list: LIFO through the blocks' first words, of the heap's thread alone.
 * Capacity 16, refill 8, flush 8.
 * Hit path: alloc 5 loads, 2 stores, 1 branch; free 4 loads, 3 stores, 1 branch. */
static void *alloc_16(void)
{
    struct heap *heap = hs_self;
    struct block *block = heap->front[CLASS_16].list;
    if (block == NULL) /* empty, or no heap */
        return linked_list_refill(heap, CLASS_16);
    count_checked(&heap->count[CLASS_16].hit0);
    heap->front[CLASS_16].list = link_take(block);
    word_subtract(&heap->front[CLASS_16].held, 1);
    return block;
}

static void free_16(void *block)
{
    struct heap *heap = hs_self;
    uint32_t held = heap->front[CLASS_16].held;
    if (held >= 16) { /* full, or no heap */
        linked_list_flush(heap, CLASS_16, block);
        return;
    }
    count_checked(&heap->count[CLASS_16].push);
    struct block *newest = block;
    link_set(newest, heap->front[CLASS_16].list);
    heap->front[CLASS_16].list = newest;
    word_set(&heap->front[CLASS_16].held, held + 1);
}

/* 32-byte blocks for requests of 17 to 32 bytes: at most 15 bytes unused inside, 128 blocks a slab.
 * Linked list: LIFO through the blocks' first words, of the heap's thread alone.
 * Capacity 16, refill 8, flush 8.
 * Hit path: alloc 5 loads, 2 stores, 1 branch; free 4 loads, 3 stores, 1 branch. */
static void *alloc_32(void)
{
    struct heap *heap = hs_self;
    struct block *block = heap->front[CLASS_32].list;
    if (block == NULL) /* empty, or no heap */
        return linked_list_refill(heap, CLASS_32);
    count_checked(&heap->count[CLASS_32].hit0);
    heap->front[CLASS_32].list = link_take(block);
    word_subtract(&heap->front[CLASS_32].held, 1);
    return block;
}

static void free_32(void *block)
{
    struct heap *heap = hs_self;
    uint32_t held = heap->front[CLASS_32].held;
    if (held >= 16) { /* full, or no heap */
        linked_list_flush(heap, CLASS_32, block);
        return;
    }
    count_checked(&heap->count[CLASS_32].push);
    struct block *newest = block;
    link_set(newest, heap->front[CLASS_32].list);
    heap->front[CLASS_32].list = newest;
    word_set(&heap->front[CLASS_32].held, held + 1);
}

/* 48-byte blocks for requests of 33 to 48 bytes: at most 15 bytes unused inside, 85 blocks a slab.
 * Linked list: LIFO through the blocks' first words, of the heap's thread alone.
 * Capacity 16, refill 8, flush 8.
 * Hit path: alloc 5 loads, 2 stores, 1 branch; free 4 loads, 3 stores, 1 branch. */
static void *alloc_48(void)
{
    struct heap *heap = hs_self;
    struct block *block = heap->front[CLASS_48].list;
    if (block == NULL) /* empty, or no heap */
        return linked_list_refill(heap, CLASS_48);
    count_checked(&heap->count[CLASS_48].hit0);
    heap->front[CLASS_48].list = link_take(block);
    word_subtract(&heap->front[CLASS_48].held, 1);
    return block;
}

static void free_48(void *block)
{
    struct heap *heap = hs_self;
    uint32_t held = heap->front[CLASS_48].held;
    if (held >= 16) { /* full, or no heap */
        linked_list_flush(heap, CLASS_48, block);
        return;
    }
    count_checked(&heap->count[CLASS_48].push);
    struct block *newest = block;
    link_set(newest, heap->front[CLASS_48].list);
    heap->front[CLASS_48].list = newest;
    word_set(&heap->front[CLASS_48].held, held + 1);
}

/* 64-byte blocks for requests of 49 to 64 bytes: at most 15 bytes unused inside, 64 blocks a slab.
 * Linked list: LIFO through the blocks' first words, of the heap's thread alone.
 * Capacity 16, refill 8, flush 8.
 * Hit path: alloc 5 loads, 2 stores, 1 branch; free 4 loads, 3 stores, 1 branch. */
static void *alloc_64(void)
{
    struct heap *heap = hs_self;
    struct block *block = heap->front[CLASS_64].list;
    if (block == NULL) /* empty, or no heap */
        return linked_list_refill(heap, CLASS_64);
    count_checked(&heap->count[CLASS_64].hit0);
    heap->front[CLASS_64].list = link_take(block);
    word_subtract(&heap->front[CLASS_64].held, 1);
    return block;
}

static void free_64(void *block)
{
    struct heap *heap = hs_self;
    uint32_t held = heap->front[CLASS_64].held;
    if (held >= 16) { /* full, or no heap */
        linked_list_flush(heap, CLASS_64, block);
        return;
    }
    count_checked(&heap->count[CLASS_64].push);
    struct block *newest = block;
    link_set(newest, heap->front[CLASS_64].list);
    heap->front[CLASS_64].list = newest;
    word_set(&heap->front[CLASS_64].held, held + 1);
}

/* 80-byte blocks for requests of 65 to 80 bytes: at most 15 bytes unused inside, 51 blocks a slab.
 * Linked list: LIFO through the blocks' first words, of the heap's thread alone.
 * Capacity 16, refill 8, flush 8.
 * Hit path: alloc 5 loads, 2 stores, 1 branch; free 4 loads, 3 stores, 1 branch. */
static void *alloc_80(void)
{
    struct heap *heap = hs_self;
    struct block *block = heap->front[CLASS_80].list;
    if (block == NULL) /* empty, or no heap */
        return linked_list_refill(heap, CLASS_80);
    count_checked(&heap->count[CLASS_80].hit0);
    heap->front[CLASS_80].list = link_take(block);
    word_subtract(&heap->front[CLASS_80].held, 1);
    return block;
}

static void free_80(void *block)
{
    struct heap *heap = hs_self;
    uint32_t held = heap->front[CLASS_80].held;
    if (held >= 16) { /* full, or no heap */
        linked_list_flush(heap, CLASS_80, block);
        return;
    }
    count_checked(&heap->count[CLASS_80].push);
    struct block *newest = block;
    link_set(newest, heap->front[CLASS_80].list);
    heap->front[CLASS_80].list = newest;
    word_set(&heap->front[CLASS_80].held, held + 1);
}

/* 96-byte blocks for requests of 81 to 96 bytes: at most 15 bytes unused inside, 42 blocks a slab.
 * Linked list: LIFO through the blocks' first words, of the heap's thread alone.
 * Capacity 16, refill 8, flush 8.
 * Hit path: alloc 5 loads, 2 stores, 1 branch; free 4 loads, 3 stores, 1 branch. */
static void *alloc_96(void)
{
    struct heap *heap = hs_self;
    struct block *block = heap->front[CLASS_96].list;
    if (block == NULL) /* empty, or no heap */
        return linked_list_refill(heap, CLASS_96);
    count_checked(&heap->count[CLASS_96].hit0);
    heap->front[CLASS_96].list = link_take(block);
    word_subtract(&heap->front[CLASS_96].held, 1);
    return block;
}

static void free_96(void *block)
{
    struct heap *heap = hs_self;
    uint32_t held = heap->front[CLASS_96].held;
    if (held >= 16) { /* full, or no heap */
        linked_list_flush(heap, CLASS_96, block);
        return;
    }
    count_checked(&heap->count[CLASS_96].push);
    struct block *newest = block;
    link_set(newest, heap->front[CLASS_96].list);
    heap->front[CLASS_96].list = newest;
    word_set(&heap->front[CLASS_96].held, held + 1);
}

/* 112-byte blocks for requests of 97 to 112 bytes: at most 15 bytes unused inside, 36 blocks a slab.
 * Linked list: LIFO through the blocks' first words, of the heap's thread alone.
 * Capacity 16, refill 8, flush 8.
 * Hit path: alloc 5 loads, 2 stores, 1 branch; free 4 loads, 3 stores, 1 branch. */
static void *alloc_112(void)
{
    struct heap *heap = hs_self;
    struct block *block = heap->front[CLASS_112].list;
    if (block == NULL) /* empty, or no heap */
        return linked_list_refill(heap, CLASS_112);
    count_checked(&heap->count[CLASS_112].hit0);
    heap->front[CLASS_112].list = link_take(block);
    word_subtract(&heap->front[CLASS_112].held, 1);
    return block;
}

static void free_112(void *block)
{
    struct heap *heap = hs_self;
    uint32_t held = heap->front[CLASS_112].held;
    if (held >= 16) { /* full, or no heap */
        linked_list_flush(heap, CLASS_112, block);
        return;
    }
    count_checked(&heap->count[CLASS_112].push);
    struct block *newest = block;
    link_set(newest, heap->front[CLASS_112].list);
    heap->front[CLASS_112].list = newest;
    word_set(&heap->front[CLASS_112].held, held + 1);
}

/* 128-byte blocks for requests of 113 to 128 bytes: at most 15 bytes unused inside, 32 blocks a slab.
 * Linked list: LIFO through the blocks' first words, of the heap's thread alone.
 * Capacity 16, refill 8, flush 8.
 * Hit path: alloc 5 loads, 2 stores, 1 branch; free 4 loads, 3 stores, 1 branch. */
static void *alloc_128(void)
{
    struct heap *heap = hs_self;
    struct block *block = heap->front[CLASS_128].list;
    if (block == NULL) /* empty, or no heap */
        return linked_list_refill(heap, CLASS_128);
    count_checked(&heap->count[CLASS_128].hit0);
    heap->front[CLASS_128].list = link_take(block);
    word_subtract(&heap->front[CLASS_128].held, 1);
    return block;
}

static void free_128(void *block)
{
    struct heap *heap = hs_self;
    uint32_t held = heap->front[CLASS_128].held;
    if (held >= 16) { /* full, or no heap */
        linked_list_flush(heap, CLASS_128, block);
        return;
    }
    count_checked(&heap->count[CLASS_128].push);
    struct block *newest = block;
    link_set(newest, heap->front[CLASS_128].list);
    heap->front[CLASS_128].list = newest;
    word_set(&heap->front[CLASS_128].held, held + 1);
}

/* 144-byte blocks for requests of 129 to 144 bytes: at most 15 bytes unused inside, 28 blocks a slab.
 * Linked list: LIFO through the blocks' first words, of the heap's thread alone.
 * Capacity 14, refill 7, flush 7.
 * Hit path: alloc 5 loads, 2 stores, 1 branch; free 4 loads, 3 stores, 1 branch. */
static void *alloc_144(void)
{
    struct heap *heap = hs_self;
    struct block *block = heap->front[CLASS_144].list;
    if (block == NULL) /* empty, or no heap */
        return linked_list_refill(heap, CLASS_144);
    count_checked(&heap->count[CLASS_144].hit0);
    heap->front[CLASS_144].list = link_take(block);
    word_subtract(&heap->front[CLASS_144].held, 1);
    return block;
}

static void free_144(void *block)
{
    struct heap *heap = hs_self;
    uint32_t held = heap->front[CLASS_144].held;
    if (held >= 14) { /* full, or no heap */
        linked_list_flush(heap, CLASS_144, block);
        return;
    }
    count_checked(&heap->count[CLASS_144].push);
    struct block *newest = block;
    link_set(newest, heap->front[CLASS_144].list);
    heap->front[CLASS_144].list = newest;
    word_set(&heap->front[CLASS_144].held, held + 1);
}

/* 160-byte blocks for requests of 145 to 160 bytes: at most 15 bytes unused inside, 25 blocks a slab.
 * Linked list: LIFO through the blocks' first words, of the heap's thread alone.
 * Capacity 12, refill 6, flush 6.
 * Hit path: alloc 5 loads, 2 stores, 1 branch; free 4 loads, 3 stores, 1 branch. */
static void *alloc_160(void)
{
    struct heap *heap = hs_self;
    struct block *block = heap->front[CLASS_160].list;
    if (block == NULL) /* empty, or no heap */
        return linked_list_refill(heap, CLASS_160);
    count_checked(&heap->count[CLASS_160].hit0);
    heap->front[CLASS_160].list = link_take(block);
    word_subtract(&heap->front[CLASS_160].held, 1);
    return block;
}

static void free_160(void *block)
{
    struct heap *heap = hs_self;
    uint32_t held = heap->front[CLASS_160].held;
    if (held >= 12) { /* full, or no heap */
        linked_list_flush(heap, CLASS_160, block);
        return;
    }
    count_checked(&heap->count[CLASS_160].push);
    struct block *newest = block;
    link_set(newest, heap->front[CLASS_160].list);
    heap->front[CLASS_160].list = newest;
    word_set(&heap->front[CLASS_160].held, held + 1);
}

/* 176-byte blocks for requests of 161 to 176 bytes: at most 15 bytes unused inside, 23 blocks a slab.
 * Linked list: LIFO through the blocks' first words, of the heap's thread alone.
 * Capacity 11, refill 5, flush 5.
 * Hit path: alloc 5 loads, 2 stores, 1 branch; free 4 loads, 3 stores, 1 branch. */
static void *alloc_176(void)
{
    struct heap *heap = hs_self;
    struct block *block = heap->front[CLASS_176].list;
    if (block == NULL) /* empty, or no heap */
        return linked_list_refill(heap, CLASS_176);
    count_checked(&heap->count[CLASS_176].hit0);
    heap->front[CLASS_176].list = link_take(block);
    word_subtract(&heap->front[CLASS_176].held, 1);
    return block;
}

static void free_176(void *block)
{
    struct heap *heap = hs_self;
    uint32_t held = heap->front[CLASS_176].held;
    if (held >= 11) { /* full, or no heap */
        linked_list_flush(heap, CLASS_176, block);
        return;
    }
    count_checked(&heap->count[CLASS_176].push);
    struct block *newest = block;
    link_set(newest, heap->front[CLASS_176].list);
    heap->front[CLASS_176].list = newest;
    word_set(&heap->front[CLASS_176].held, held + 1);
}

/* 192-byte blocks for requests of 177 to 192 bytes: at most 15 bytes unused inside, 21 blocks a slab.
 * Linked list: LIFO through the blocks' first words, of the heap's thread alone.
 * Capacity 10, refill 5, flush 5.
 * Hit path: alloc 5 loads, 2 stores, 1 branch; free 4 loads, 3 stores, 1 branch. */
static void *alloc_192(void)
{
    struct heap *heap = hs_self;
    struct block *block = heap->front[CLASS_192].list;
    if (block == NULL) /* empty, or no heap */
        return linked_list_refill(heap, CLASS_192);
    count_checked(&heap->count[CLASS_192].hit0);
    heap->front[CLASS_192].list = link_take(block);
    word_subtract(&heap->front[CLASS_192].held, 1);
    return block;
}

static void free_192(void *block)
{
    struct heap *heap = hs_self;
    uint32_t held = heap->front[CLASS_192].held;
    if (held >= 10) { /* full, or no heap */
        linked_list_flush(heap, CLASS_192, block);
        return;
    }
    count_checked(&heap->count[CLASS_192].push);
    struct block *newest = block;
    link_set(newest, heap->front[CLASS_192].list);
    heap->front[CLASS_192].list = newest;
    word_set(&heap->front[CLASS_192].held, held + 1);
}

/* 208-byte blocks for requests of 193 to 208 bytes: at most 15 bytes unused inside, 19 blocks a slab.
 * Linked list: LIFO through the blocks' first words, of the heap's thread alone.
 * Capacity 9, refill 4, flush 4.
 * Hit path: alloc 5 loads, 2 stores, 1 branch; free 4 loads, 3 stores, 1 branch. */
static void *alloc_208(void)
{
    struct heap *heap = hs_self;
    struct block *block = heap->front[CLASS_208].list;
    if (block == NULL) /* empty, or no heap */
        return linked_list_refill(heap, CLASS_208);
    count_checked(&heap->count[CLASS_208].hit0);
    heap->front[CLASS_208].list = link_take(block);
    word_subtract(&heap->front[CLASS_208].held, 1);
    return block;
}

static void free_208(void *block)
{
    struct heap *heap = hs_self;
    uint32_t held = heap->front[CLASS_208].held;
    if (held >= 9) { /* full, or no heap */
        linked_list_flush(heap, CLASS_208, block);
        return;
    }
    count_checked(&heap->count[CLASS_208].push);
    struct block *newest = block;
    link_set(newest, heap->front[CLASS_208].list);
    heap->front[CLASS_208].list = newest;
    word_set(&heap->front[CLASS_208].held, held + 1);
}

/* 224-byte blocks for requests of 209 to 224 bytes: at most 15 bytes unused inside, 18 blocks a slab.
 * Linked list: LIFO through the blocks' first words, of the heap's thread alone.
 * Capacity 9, refill 4, flush 4.
 * Hit path: alloc 5 loads, 2 stores, 1 branch; free 4 loads, 3 stores, 1 branch. */
static void *alloc_224(void)
{
    struct heap *heap = hs_self;
    struct block *block = heap->front[CLASS_224].list;
    if (block == NULL) /* empty, or no heap */
        return linked_list_refill(heap, CLASS_224);
    count_checked(&heap->count[CLASS_224].hit0);
    heap->front[CLASS_224].list = link_take(block);
    word_subtract(&heap->front[CLASS_224].held, 1);
    return block;
}

static void free_224(void *block)
{
    struct heap *heap = hs_self;
    uint32_t held = heap->front[CLASS_224].held;
    if (held >= 9) { /* full, or no heap */
        linked_list_flush(heap, CLASS_224, block);
        return;
    }
    count_checked(&heap->count[CLASS_224].push);
    struct block *newest = block;
    link_set(newest, heap->front[CLASS_224].list);
    heap->front[CLASS_224].list = newest;
    word_set(&heap->front[CLASS_224].held, held + 1);
}

/* 240-byte blocks for requests of 225 to 240 bytes: at most 15 bytes unused inside, 17 blocks a slab.
 * Linked list: LIFO through the blocks' first words, of the heap's thread alone.
 * Capacity 8, refill 4, flush 4.
 * Hit path: alloc 5 loads, 2 stores, 1 branch; free 4 loads, 3 stores, 1 branch. */
static void *alloc_240(void)
{
    struct heap *heap = hs_self;
    struct block *block = heap->front[CLASS_240].list;
    if (block == NULL) /* empty, or no heap */
        return linked_list_refill(heap, CLASS_240);
    count_checked(&heap->count[CLASS_240].hit0);
    heap->front[CLASS_240].list = link_take(block);
    word_subtract(&heap->front[CLASS_240].held, 1);
    return block;
}

static void free_240(void *block)
{
    struct heap *heap = hs_self;
    uint32_t held = heap->front[CLASS_240].held;
    if (held >= 8) { /* full, or no heap */
        linked_list_flush(heap, CLASS_240, block);
        return;
    }
    count_checked(&heap->count[CLASS_240].push);
    struct block *newest = block;
    link_set(newest, heap->front[CLASS_240].list);
    heap->front[CLASS_240].list = newest;
    word_set(&heap->front[CLASS_240].held, held + 1);
}

/* 256-byte blocks for requests of 241 to 256 bytes: at most 15 bytes unused inside, 16 blocks a slab.
 * Linked list: LIFO through the blocks' first words, of the heap's thread alone.
 * Capacity 8, refill 4, flush 4.
 * Hit path: alloc 5 loads, 2 stores, 1 branch; free 4 loads, 3 stores, 1 branch. */
static void *alloc_256(void)
{
    struct heap *heap = hs_self;
    struct block *block = heap->front[CLASS_256].list;
    if (block == NULL) /* empty, or no heap */
        return linked_list_refill(heap, CLASS_256);
    count_checked(&heap->count[CLASS_256].hit0);
    heap->front[CLASS_256].list = link_take(block);
    word_subtract(&heap->front[CLASS_256].held, 1);
    return block;
}

static void free_256(void *block)
{
    struct heap *heap = hs_self;
    uint32_t held = heap->front[CLASS_256].held;
    if (held >= 8) { /* full, or no heap */
        linked_list_flush(heap, CLASS_256, block);
        return;
    }
    count_checked(&heap->count[CLASS_256].push);
    struct block *newest = block;
    link_set(newest, heap->front[CLASS_256].list);
    heap->front[CLASS_256].list = newest;
    word_set(&heap->front[CLASS_256].held, held + 1);
}

/* 288-byte blocks for requests of 257 to 288 bytes: at most 31 bytes unused inside, 14 blocks a slab.
 * Linked list: LIFO through the blocks' first words, of the heap's thread alone.
 * Capacity 7, refill 3, flush 3.
 * Hit path: alloc 5 loads, 2 stores, 1 branch; free 4 loads, 3 stores, 1 branch. */
static void *alloc_288(void)
{
    struct heap *heap = hs_self;
    struct block *block = heap->front[CLASS_288].list;
    if (block == NULL) /* empty, or no heap */
        return linked_list_refill(heap, CLASS_288);
    count_checked(&heap->count[CLASS_288].hit0);
    heap->front[CLASS_288].list = link_take(block);
    word_subtract(&heap->front[CLASS_288].held, 1);
    return block;
}

static void free_288(void *block)
{
    struct heap *heap = hs_self;
    uint32_t held = heap->front[CLASS_288].held;
    if (held >= 7) { /* full, or no heap */
        linked_list_flush(heap, CLASS_288, block);
        return;
    }
    count_checked(&heap->count[CLASS_288].push);
    struct block *newest = block;
    link_set(newest, heap->front[CLASS_288].list);
    heap->front[CLASS_288].list = newest;
    word_set(&heap->front[CLASS_288].held, held + 1);
}

/* 320-byte blocks for requests of 289 to 320 bytes: at most 31 bytes unused inside, 12 blocks a slab.
 * Linked list: LIFO through the blocks' first words, of the heap's thread alone.
 * Capacity 6, refill 3, flush 3.
 * Hit path: alloc 5 loads, 2 stores, 1 branch; free 4 loads, 3 stores, 1 branch. */
static void *alloc_320(void)
{
    struct heap *heap = hs_self;
    struct block *block = heap->front[CLASS_320].list;
    if (block == NULL) /* empty, or no heap */
        return linked_list_refill(heap, CLASS_320);
    count_checked(&heap->count[CLASS_320].hit0);
    heap->front[CLASS_320].list = link_take(block);
    word_subtract(&heap->front[CLASS_320].held, 1);
    return block;
}

static void free_320(void *block)
{
    struct heap *heap = hs_self;
    uint32_t held = heap->front[CLASS_320].held;
    if (held >= 6) { /* full, or no heap */
        linked_list_flush(heap, CLASS_320, block);
        return;
    }
    count_checked(&heap->count[CLASS_320].push);
    struct block *newest = block;
    link_set(newest, heap->front[CLASS_320].list);
    heap->front[CLASS_320].list = newest;
    word_set(&heap->front[CLASS_320].held, held + 1);
}

/* 368-byte blocks for requests of 321 to 368 bytes: at most 47 bytes unused inside, 11 blocks a slab.
 * Linked list: LIFO through the blocks' first words, of the heap's thread alone.
 * Capacity 5, refill 2, flush 2.
 * Hit path: alloc 5 loads, 2 stores, 1 branch; free 4 loads, 3 stores, 1 branch. */
static void *alloc_368(void)
{
    struct heap *heap = hs_self;
    struct block *block = heap->front[CLASS_368].list;
    if (block == NULL) /* empty, or no heap */
        return linked_list_refill(heap, CLASS_368);
    count_checked(&heap->count[CLASS_368].hit0);
    heap->front[CLASS_368].list = link_take(block);
    word_subtract(&heap->front[CLASS_368].held, 1);
    return block;
}

static void free_368(void *block)
{
    struct heap *heap = hs_self;
    uint32_t held = heap->front[CLASS_368].held;
    if (held >= 5) { /* full, or no heap */
        linked_list_flush(heap, CLASS_368, block);
        return;
    }
    count_checked(&heap->count[CLASS_368].push);
    struct block *newest = block;
    link_set(newest, heap->front[CLASS_368].list);
    heap->front[CLASS_368].list = newest;
    word_set(&heap->front[CLASS_368].held, held + 1);
}

/* 400-byte blocks for requests of 369 to 400 bytes: at most 31 bytes unused inside, 10 blocks a slab.
 * Linked list: LIFO through the blocks' first words, of the heap's thread alone.
 * Capacity 5, refill 2, flush 2.
 * Hit path: alloc 5 loads, 2 stores, 1 branch; free 4 loads, 3 stores, 1 branch. */
static void *alloc_400(void)
{
    struct heap *heap = hs_self;
    struct block *block = heap->front[CLASS_400].list;
    if (block == NULL) /* empty, or no heap */
        return linked_list_refill(heap, CLASS_400);
    count_checked(&heap->count[CLASS_400].hit0);
    heap->front[CLASS_400].list = link_take(block);
    word_subtract(&heap->front[CLASS_400].held, 1);
    return block;
}

static void free_400(void *block)
{
    struct heap *heap = hs_self;
    uint32_t held = heap->front[CLASS_400].held;
    if (held >= 5) { /* full, or no heap */
        linked_list_flush(heap, CLASS_400, block);
        return;
    }
    count_checked(&heap->count[CLASS_400].push);
    struct block *newest = block;
    link_set(newest, heap->front[CLASS_400].list);
    heap->front[CLASS_400].list = newest;
    word_set(&heap->front[CLASS_400].held, held + 1);
}

/* 448-byte blocks for requests of 401 to 448 bytes: at most 47 bytes unused inside, 9 blocks a slab.
 * Linked list: LIFO through the blocks' first words, of the heap's thread alone.
 * Capacity 4, refill 2, flush 2.
 * Hit path: alloc 5 loads, 2 stores, 1 branch; free 4 loads, 3 stores, 1 branch. */
static void *alloc_448(void)
{
    struct heap *heap = hs_self;
    struct block *block = heap->front[CLASS_448].list;
    if (block == NULL) /* empty, or no heap */
        return linked_list_refill(heap, CLASS_448);
    count_checked(&heap->count[CLASS_448].hit0);
    heap->front[CLASS_448].list = link_take(block);
    word_subtract(&heap->front[CLASS_448].held, 1);
    return block;
}

static void free_448(void *block)
{
    struct heap *heap = hs_self;
    uint32_t held = heap->front[CLASS_448].held;
    if (held >= 4) { /* full, or no heap */
        linked_list_flush(heap, CLASS_448, block);
        return;
    }
    count_checked(&heap->count[CLASS_448].push);
    struct block *newest = block;
    link_set(newest, heap->front[CLASS_448].list);
    heap->front[CLASS_448].list = newest;
    word_set(&heap->front[CLASS_448].held, held + 1);
}

/* 512-byte blocks for requests of 449 to 512 bytes: at most 63 bytes unused inside, 8 blocks a slab.
 * Linked list: LIFO through the blocks' first words, of the heap's thread alone.
 * Capacity 4, refill 2, flush 2.
 * Hit path: alloc 5 loads, 2 stores, 1 branch; free 4 loads, 3 stores, 1 branch. */
static void *alloc_512(void)
{
    struct heap *heap = hs_self;
    struct block *block = heap->front[CLASS_512].list;
    if (block == NULL) /* empty, or no heap */
        return linked_list_refill(heap, CLASS_512);
    count_checked(&heap->count[CLASS_512].hit0);
    heap->front[CLASS_512].list = link_take(block);
    word_subtract(&heap->front[CLASS_512].held, 1);
    return block;
}

static void free_512(void *block)
{
    struct heap *heap = hs_self;
    uint32_t held = heap->front[CLASS_512].held;
    if (held >= 4) { /* full, or no heap */
        linked_list_flush(heap, CLASS_512, block);
        return;
    }
    count_checked(&heap->count[CLASS_512].push);
    struct block *newest = block;
    link_set(newest, heap->front[CLASS_512].list);
    heap->front[CLASS_512].list = newest;
    word_set(&heap->front[CLASS_512].held, held + 1);
}

/* 576-byte blocks for requests of 513 to 576 bytes: at most 63 bytes unused inside, 7 blocks a slab.
 * Linked list: LIFO through the blocks' first words, of the heap's thread alone.
 * Capacity 3, refill 1, flush 1.
 * Hit path: alloc 5 loads, 2 stores, 1 branch; free 4 loads, 3 stores, 1 branch. */
static void *alloc_576(void)
{
    struct heap *heap = hs_self;
    struct block *block = heap->front[CLASS_576].list;
    if (block == NULL) /* empty, or no heap */
        return linked_list_refill(heap, CLASS_576);
    count_checked(&heap->count[CLASS_576].hit0);
    heap->front[CLASS_576].list = link_take(block);
    word_subtract(&heap->front[CLASS_576].held, 1);
    return block;
}

static void free_576(void *block)
{
    struct heap *heap = hs_self;
    uint32_t held = heap->front[CLASS_576].held;
    if (held >= 3) { /* full, or no heap */
        linked_list_flush(heap, CLASS_576, block);
        return;
    }
    count_checked(&heap->count[CLASS_576].push);
    struct block *newest = block;
    link_set(newest, heap->front[CLASS_576].list);
    heap->front[CLASS_576].list = newest;
    word_set(&heap->front[CLASS_576].held, held + 1);
}

/* 672-byte blocks for requests of 577 to 672 bytes: at most 95 bytes unused inside, 6 blocks a slab.
 * Linked list: LIFO through the blocks' first words, of the heap's thread alone.
 * Capacity 3, refill 1, flush 1.
 * Hit path: alloc 5 loads, 2 stores, 1 branch; free 4 loads, 3 stores, 1 branch. */
static void *alloc_672(void)
{
    struct heap *heap = hs_self;
    struct block *block = heap->front[CLASS_672].list;
    if (block == NULL) /* empty, or no heap */
        return linked_list_refill(heap, CLASS_672);
    count_checked(&heap->count[CLASS_672].hit0);
    heap->front[CLASS_672].list = link_take(block);
    word_subtract(&heap->front[CLASS_672].held, 1);
    return block;
}

static void free_672(void *block)
{
    struct heap *heap = hs_self;
    uint32_t held = heap->front[CLASS_672].held;
    if (held >= 3) { /* full, or no heap */
        linked_list_flush(heap, CLASS_672, block);
        return;
    }
    count_checked(&heap->count[CLASS_672].push);
    struct block *newest = block;
    link_set(newest, heap->front[CLASS_672].list);
    heap->front[CLASS_672].list = newest;
    word_set(&heap->front[CLASS_672].held, held + 1);
}

/* 800-byte blocks for requests of 673 to 800 bytes: at most 127 bytes unused inside, 5 blocks a slab.
 * Linked list: LIFO through the blocks' first words, of the heap's thread alone.
 * Capacity 2, refill 1, flush 1.
 * Hit path: alloc 5 loads, 2 stores, 1 branch; free 4 loads, 3 stores, 1 branch. */
static void *alloc_800(void)
{
    struct heap *heap = hs_self;
    struct block *block = heap->front[CLASS_800].list;
    if (block == NULL) /* empty, or no heap */
        return linked_list_refill(heap, CLASS_800);
    count_checked(&heap->count[CLASS_800].hit0);
    heap->front[CLASS_800].list = link_take(block);
    word_subtract(&heap->front[CLASS_800].held, 1);
    return block;
}

static void free_800(void *block)
{
    struct heap *heap = hs_self;
    uint32_t held = heap->front[CLASS_800].held;
    if (held >= 2) { /* full, or no heap */
        linked_list_flush(heap, CLASS_800, block);
        return;
    }
    count_checked(&heap->count[CLASS_800].push);
    struct block *newest = block;
    link_set(newest, heap->front[CLASS_800].list);
    heap->front[CLASS_800].list = newest;
    word_set(&heap->front[CLASS_800].held, held + 1);
}

/* 1008-byte blocks for requests of 801 to 1008 bytes: at most 207 bytes unused inside, 4 blocks a slab.
 * Linked list: LIFO through the blocks' first words, of the heap's thread alone.
 * Capacity 2, refill 1, flush 1.
 * Hit path: alloc 5 loads, 2 stores, 1 branch; free 4 loads, 3 stores, 1 branch. */
static void *alloc_1008(void)
{
    struct heap *heap = hs_self;
    struct block *block = heap->front[CLASS_1008].list;
    if (block == NULL) /* empty, or no heap */
        return linked_list_refill(heap, CLASS_1008);
    count_checked(&heap->count[CLASS_1008].hit0);
    heap->front[CLASS_1008].list = link_take(block);
    word_subtract(&heap->front[CLASS_1008].held, 1);
    return block;
}

static void free_1008(void *block)
{
    struct heap *heap = hs_self;
    uint32_t held = heap->front[CLASS_1008].held;
    if (held >= 2) { /* full, or no heap */
        linked_list_flush(heap, CLASS_1008, block);
        return;
    }
    count_checked(&heap->count[CLASS_1008].push);
    struct block *newest = block;
    link_set(newest, heap->front[CLASS_1008].list);
    heap->front[CLASS_1008].list = newest;
    word_set(&heap->front[CLASS_1008].held, held + 1);
}

/* 1360-byte blocks for requests of 1009 to 1360 bytes: at most 351 bytes unused inside, 3 blocks a slab.
 * Linked list: LIFO through the blocks' first words, of the heap's thread alone.
 * Capacity 1, refill 1, flush 1.
 * Hit path: alloc 5 loads, 2 stores, 1 branch; free 4 loads, 3 stores, 1 branch. */
static void *alloc_1360(void)
{
    struct heap *heap = hs_self;
    struct block *block = heap->front[CLASS_1360].list;
    if (block == NULL) /* empty, or no heap */
        return linked_list_refill(heap, CLASS_1360);
    count_checked(&heap->count[CLASS_1360].hit0);
    heap->front[CLASS_1360].list = link_take(block);
    word_subtract(&heap->front[CLASS_1360].held, 1);
    return block;
}

static void free_1360(void *block)
{
    struct heap *heap = hs_self;
    uint32_t held = heap->front[CLASS_1360].held;
    if (held >= 1) { /* full, or no heap */
        linked_list_flush(heap, CLASS_1360, block);
        return;
    }
    count_checked(&heap->count[CLASS_1360].push);
    struct block *newest = block;
    link_set(newest, heap->front[CLASS_1360].list);
    heap->front[CLASS_1360].list = newest;
    word_set(&heap->front[CLASS_1360].held, held + 1);
}

/* 2048-byte blocks for requests of 1361 to 2048 bytes: at most 687 bytes unused inside, 2 blocks a slab.
 * Linked list: LIFO through the blocks' first words, of the heap's thread alone.
 * Capacity 1, refill 1, flush 1.
 * Hit path: alloc 5 loads, 2 stores, 1 branch; free 4 loads, 3 stores, 1 branch. */
static void *alloc_2048(void)
{
    struct heap *heap = hs_self;
    struct block *block = heap->front[CLASS_2048].list;
    if (block == NULL) /* empty, or no heap */
        return linked_list_refill(heap, CLASS_2048);
    count_checked(&heap->count[CLASS_2048].hit0);
    heap->front[CLASS_2048].list = link_take(block);
    word_subtract(&heap->front[CLASS_2048].held, 1);
    return block;
}

static void free_2048(void *block)
{
    struct heap *heap = hs_self;
    uint32_t held = heap->front[CLASS_2048].held;
    if (held >= 1) { /* full, or no heap */
        linked_list_flush(heap, CLASS_2048, block);
        return;
    }
    count_checked(&heap->count[CLASS_2048].push);
    struct block *newest = block;
    link_set(newest, heap->front[CLASS_2048].list);
    heap->front[CLASS_2048].list = newest;
    word_set(&heap->front[CLASS_2048].held, held + 1);
}

static void *(*const alloc_of[CLASS_COUNT])(void) = {
    alloc_16,
    alloc_32,
    alloc_48,
    alloc_64,
    alloc_80,
    alloc_96,
    alloc_112,
    alloc_128,
    alloc_144,
    alloc_160,
    alloc_176,
    alloc_192,
    alloc_208,
    alloc_224,
    alloc_240,
    alloc_256,
    alloc_288,
    alloc_320,
    alloc_368,
    alloc_400,
    alloc_448,
    alloc_512,
    alloc_576,
    alloc_672,
    alloc_800,
    alloc_1008,
    alloc_1360,
    alloc_2048,
};

/* By row: 1 + class. Row 0 is that of a pointer into a slab that has no class: no block of ours. */
static void (*const free_of[1 + CLASS_COUNT])(void *block) = {
    hs_free_large,
    free_16,
    free_32,
    free_48,
    free_64,
    free_80,
    free_96,
    free_112,
    free_128,
    free_144,
    free_160,
    free_176,
    free_192,
    free_208,
    free_224,
    free_240,
    free_256,
    free_288,
    free_320,
    free_368,
    free_400,
    free_448,
    free_512,
    free_576,
    free_672,
    free_800,
    free_1008,
    free_1360,
    free_2048,
};

/* Hit path: 2 loads, 0 stores, 1 branch, then the class. */
void *malloc(size_t bytes)
{
    if (bytes > SMALL_LIMIT)
        return hs_malloc_large(bytes);
    return alloc_of[size_to_class(bytes)]();
}

static inline void push(size_t row, void *block)
{
    free_of[row](block);
}

static inline void free_small(void *block)
{
    size_t slab = ((uintptr_t)block - hs_span) >> SLAB_SHIFT;
    size_t row = ((const uint8_t *)hs_span - SLAB_CLASSES_BYTES)[slab];
    push(row, block);
}

/* For the runtime: blocks of the quarantine, of a list of remote frees, or of a thread that had no heap before. */
void hs_free_small(void *block)
{
    free_small(block);
}

/* Hit path: 4 loads, 0 stores, 1 branch, then the class. */
void free(void *block)
{
    if (!in_slab_span(block)) {
        hs_free_large(block);
        return;
    }
    free_small(block);
}

#ifndef HEAPSMITH_ARCHIVE
/* C++'s operator new: the compiler puts malloc into it. */
__attribute__((flatten)) void *new_plain(size_t bytes)
{
    void *block = malloc(bytes);
    if (block == NULL)
        return new_elsewhere(bytes);
    return block;
}
#endif
