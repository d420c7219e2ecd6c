/* The tables of this heap: size classes, size to class, and the heap of a thread that has none.
 *
 * Emitted by heapsmith 0.1.0 from design "lean", content hash f18ad4c2b357.
 * Do not edit: change the design, then run: heapsmith generate lean -o DIR
 */
#include "8_threads/front/linked_list.h"
#include "7_large/run_pages.h"
#include "3_records/span.h"

/* What the hit paths and the tables count on. */
_Static_assert(CLASS_2048 + 1 == CLASS_COUNT, "classes are numbered from 0 without a gap");
_Static_assert(SLOT_2048 + 1 + 0 == SLOT_COUNT, "a heap has slots for every class");
_Static_assert((SMALL_LIMIT + SIZE_BIAS + GRAIN - 1) / GRAIN + 1 == SIZE_CLASS_COUNT, "every small size has a class");
_Static_assert((uint64_t)SPAN_SLABS << SLAB_SHIFT == SLAB_SPAN_BYTES, "a slab's number is its offset's upper bits");
_Static_assert((uint64_t)REGIONS * REGION_BYTES == SLAB_SPAN_BYTES, "the regions are the span");
_Static_assert(SLAB_CLASSES_BYTES == 0 || SLAB_CLASSES_BYTES >= SPAN_SLABS, "every slab has a byte of the class map");
_Static_assert(BITMAP_WORDS * 64 >= 256, "a mark for every block of a slab");

/* Where the model says that these lie (model/memory/layout.py), to know the cache lines that each path touches. */
_Static_assert(offsetof(struct heap, end) == 232, "heap.end");
_Static_assert(offsetof(struct heap, row_of) == 480, "heap.row_of");
_Static_assert(offsetof(struct heap, front) == 488, "heap.front");
_Static_assert(offsetof(struct heap, remote) == 1160, "heap.remote");
_Static_assert(offsetof(struct heap, store) == 1184, "heap.store");
_Static_assert(offsetof(struct heap, count) == 1200, "heap.count");
_Static_assert(offsetof(struct heap, caches) == 5232, "heap.caches");
_Static_assert(offsetof(struct heap, quarantine) == 5232, "heap.quarantine");
_Static_assert(offsetof(struct heap, slot) == 5248, "heap.slot");
_Static_assert(offsetof(struct slab, out) == 8, "slab.out");
_Static_assert(offsetof(struct slab, next) == 16, "slab.next");
_Static_assert(offsetof(struct slab, previous) == 24, "slab.previous");
_Static_assert(offsetof(struct slab, child) == 32, "slab.child");
_Static_assert(offsetof(struct slab, newer) == 40, "slab.newer");
_Static_assert(offsetof(struct slab, older) == 48, "slab.older");
_Static_assert(offsetof(struct slab, owner) == 56, "slab.owner");
_Static_assert(offsetof(struct slab, earlier) == 64, "slab.earlier");
_Static_assert(offsetof(struct slab, class) == 72, "slab.class");
_Static_assert(offsetof(struct class_plan, stride) == 4, "class_plan.stride");
_Static_assert(offsetof(struct class_plan, first) == 8, "class_plan.first");
_Static_assert(offsetof(struct class_plan, reciprocal) == 16, "class_plan.reciprocal");
_Static_assert(offsetof(struct class_plan, capacity) == 24, "class_plan.capacity");
_Static_assert(offsetof(struct class_plan, refill) == 32, "class_plan.refill");
_Static_assert(offsetof(struct class_plan, slot) == 48, "class_plan.slot");
_Static_assert(offsetof(struct class_plan, transfer) == 56, "class_plan.transfer");
_Static_assert(offsetof(struct class_plan, drain) == 64, "class_plan.drain");
_Static_assert(offsetof(struct front, held) == 0, "front.held");
_Static_assert(offsetof(struct front, listed) == 8, "front.listed");
_Static_assert(offsetof(struct front, list) == 16, "front.list");
_Static_assert(sizeof(struct slab) == 80, "slab");
_Static_assert(sizeof(struct class_plan) == 72, "class_plan");
_Static_assert(sizeof(struct front) == 24, "front");
_Static_assert(sizeof(struct class_slabs) == 16, "class_slabs");
_Static_assert(sizeof(struct class_count) == 144, "class_count");
_Static_assert(sizeof(struct page) == 32, "page");

const char hs_design[] = "lean f18ad4c2b357";

const struct class_plan hs_class[CLASS_COUNT] = {
    /* 16: requests of 0 to 16 bytes; 256 blocks a slab, 0 bytes over */
    [CLASS_16] = {
        .usable = 16, .stride = 16, .first = 0, .blocks = 256, .reciprocal = 274877906945,
        .capacity = 16, .list_capacity = 0, .refill = 8, .flush = 8, .spill = 0, .promote = 0,
        .slot = SLOT_16, .stack = 0, .drain = 1,
    },
    /* 32: requests of 17 to 32 bytes; 128 blocks a slab, 0 bytes over */
    [CLASS_32] = {
        .usable = 32, .stride = 32, .first = 0, .blocks = 128, .reciprocal = 137438953473,
        .capacity = 16, .list_capacity = 0, .refill = 8, .flush = 8, .spill = 0, .promote = 0,
        .slot = SLOT_32, .stack = 0, .drain = 1,
    },
    /* 48: requests of 33 to 48 bytes; 85 blocks a slab, 16 bytes over */
    [CLASS_48] = {
        .usable = 48, .stride = 48, .first = 0, .blocks = 85, .reciprocal = 91625968982,
        .capacity = 16, .list_capacity = 0, .refill = 8, .flush = 8, .spill = 0, .promote = 0,
        .slot = SLOT_48, .stack = 0, .drain = 1,
    },
    /* 64: requests of 49 to 64 bytes; 64 blocks a slab, 0 bytes over */
    [CLASS_64] = {
        .usable = 64, .stride = 64, .first = 0, .blocks = 64, .reciprocal = 68719476737,
        .capacity = 16, .list_capacity = 0, .refill = 8, .flush = 8, .spill = 0, .promote = 0,
        .slot = SLOT_64, .stack = 0, .drain = 1,
    },
    /* 80: requests of 65 to 80 bytes; 51 blocks a slab, 16 bytes over */
    [CLASS_80] = {
        .usable = 80, .stride = 80, .first = 0, .blocks = 51, .reciprocal = 54975581389,
        .capacity = 16, .list_capacity = 0, .refill = 8, .flush = 8, .spill = 0, .promote = 0,
        .slot = SLOT_80, .stack = 0, .drain = 1,
    },
    /* 96: requests of 81 to 96 bytes; 42 blocks a slab, 64 bytes over */
    [CLASS_96] = {
        .usable = 96, .stride = 96, .first = 0, .blocks = 42, .reciprocal = 45812984491,
        .capacity = 16, .list_capacity = 0, .refill = 8, .flush = 8, .spill = 0, .promote = 0,
        .slot = SLOT_96, .stack = 0, .drain = 1,
    },
    /* 112: requests of 97 to 112 bytes; 36 blocks a slab, 64 bytes over */
    [CLASS_112] = {
        .usable = 112, .stride = 112, .first = 0, .blocks = 36, .reciprocal = 39268272421,
        .capacity = 16, .list_capacity = 0, .refill = 8, .flush = 8, .spill = 0, .promote = 0,
        .slot = SLOT_112, .stack = 0, .drain = 1,
    },
    /* 128: requests of 113 to 128 bytes; 32 blocks a slab, 0 bytes over */
    [CLASS_128] = {
        .usable = 128, .stride = 128, .first = 0, .blocks = 32, .reciprocal = 34359738369,
        .capacity = 16, .list_capacity = 0, .refill = 8, .flush = 8, .spill = 0, .promote = 0,
        .slot = SLOT_128, .stack = 0, .drain = 1,
    },
    /* 144: requests of 129 to 144 bytes; 28 blocks a slab, 64 bytes over */
    [CLASS_144] = {
        .usable = 144, .stride = 144, .first = 0, .blocks = 28, .reciprocal = 30541989661,
        .capacity = 14, .list_capacity = 0, .refill = 7, .flush = 7, .spill = 0, .promote = 0,
        .slot = SLOT_144, .stack = 0, .drain = 1,
    },
    /* 160: requests of 145 to 160 bytes; 25 blocks a slab, 96 bytes over */
    [CLASS_160] = {
        .usable = 160, .stride = 160, .first = 0, .blocks = 25, .reciprocal = 27487790695,
        .capacity = 12, .list_capacity = 0, .refill = 6, .flush = 6, .spill = 0, .promote = 0,
        .slot = SLOT_160, .stack = 0, .drain = 1,
    },
    /* 176: requests of 161 to 176 bytes; 23 blocks a slab, 48 bytes over */
    [CLASS_176] = {
        .usable = 176, .stride = 176, .first = 0, .blocks = 23, .reciprocal = 24988900632,
        .capacity = 11, .list_capacity = 0, .refill = 5, .flush = 5, .spill = 0, .promote = 0,
        .slot = SLOT_176, .stack = 0, .drain = 1,
    },
    /* 192: requests of 177 to 192 bytes; 21 blocks a slab, 64 bytes over */
    [CLASS_192] = {
        .usable = 192, .stride = 192, .first = 0, .blocks = 21, .reciprocal = 22906492246,
        .capacity = 10, .list_capacity = 0, .refill = 5, .flush = 5, .spill = 0, .promote = 0,
        .slot = SLOT_192, .stack = 0, .drain = 1,
    },
    /* 208: requests of 193 to 208 bytes; 19 blocks a slab, 144 bytes over */
    [CLASS_208] = {
        .usable = 208, .stride = 208, .first = 0, .blocks = 19, .reciprocal = 21144454381,
        .capacity = 9, .list_capacity = 0, .refill = 4, .flush = 4, .spill = 0, .promote = 0,
        .slot = SLOT_208, .stack = 0, .drain = 1,
    },
    /* 224: requests of 209 to 224 bytes; 18 blocks a slab, 64 bytes over */
    [CLASS_224] = {
        .usable = 224, .stride = 224, .first = 0, .blocks = 18, .reciprocal = 19634136211,
        .capacity = 9, .list_capacity = 0, .refill = 4, .flush = 4, .spill = 0, .promote = 0,
        .slot = SLOT_224, .stack = 0, .drain = 1,
    },
    /* 240: requests of 225 to 240 bytes; 17 blocks a slab, 16 bytes over */
    [CLASS_240] = {
        .usable = 240, .stride = 240, .first = 0, .blocks = 17, .reciprocal = 18325193797,
        .capacity = 8, .list_capacity = 0, .refill = 4, .flush = 4, .spill = 0, .promote = 0,
        .slot = SLOT_240, .stack = 0, .drain = 1,
    },
    /* 256: requests of 241 to 256 bytes; 16 blocks a slab, 0 bytes over */
    [CLASS_256] = {
        .usable = 256, .stride = 256, .first = 0, .blocks = 16, .reciprocal = 17179869185,
        .capacity = 8, .list_capacity = 0, .refill = 4, .flush = 4, .spill = 0, .promote = 0,
        .slot = SLOT_256, .stack = 0, .drain = 1,
    },
    /* 288: requests of 257 to 288 bytes; 14 blocks a slab, 64 bytes over */
    [CLASS_288] = {
        .usable = 288, .stride = 288, .first = 0, .blocks = 14, .reciprocal = 15270994831,
        .capacity = 7, .list_capacity = 0, .refill = 3, .flush = 3, .spill = 0, .promote = 0,
        .slot = SLOT_288, .stack = 0, .drain = 1,
    },
    /* 320: requests of 289 to 320 bytes; 12 blocks a slab, 256 bytes over */
    [CLASS_320] = {
        .usable = 320, .stride = 320, .first = 0, .blocks = 12, .reciprocal = 13743895348,
        .capacity = 6, .list_capacity = 0, .refill = 3, .flush = 3, .spill = 0, .promote = 0,
        .slot = SLOT_320, .stack = 0, .drain = 1,
    },
    /* 368: requests of 321 to 368 bytes; 11 blocks a slab, 48 bytes over */
    [CLASS_368] = {
        .usable = 368, .stride = 368, .first = 0, .blocks = 11, .reciprocal = 11951213346,
        .capacity = 5, .list_capacity = 0, .refill = 2, .flush = 2, .spill = 0, .promote = 0,
        .slot = SLOT_368, .stack = 0, .drain = 1,
    },
    /* 400: requests of 369 to 400 bytes; 10 blocks a slab, 96 bytes over */
    [CLASS_400] = {
        .usable = 400, .stride = 400, .first = 0, .blocks = 10, .reciprocal = 10995116278,
        .capacity = 5, .list_capacity = 0, .refill = 2, .flush = 2, .spill = 0, .promote = 0,
        .slot = SLOT_400, .stack = 0, .drain = 1,
    },
    /* 448: requests of 401 to 448 bytes; 9 blocks a slab, 64 bytes over */
    [CLASS_448] = {
        .usable = 448, .stride = 448, .first = 0, .blocks = 9, .reciprocal = 9817068106,
        .capacity = 4, .list_capacity = 0, .refill = 2, .flush = 2, .spill = 0, .promote = 0,
        .slot = SLOT_448, .stack = 0, .drain = 1,
    },
    /* 512: requests of 449 to 512 bytes; 8 blocks a slab, 0 bytes over */
    [CLASS_512] = {
        .usable = 512, .stride = 512, .first = 0, .blocks = 8, .reciprocal = 8589934593,
        .capacity = 4, .list_capacity = 0, .refill = 2, .flush = 2, .spill = 0, .promote = 0,
        .slot = SLOT_512, .stack = 0, .drain = 1,
    },
    /* 576: requests of 513 to 576 bytes; 7 blocks a slab, 64 bytes over */
    [CLASS_576] = {
        .usable = 576, .stride = 576, .first = 0, .blocks = 7, .reciprocal = 7635497416,
        .capacity = 3, .list_capacity = 0, .refill = 1, .flush = 1, .spill = 0, .promote = 0,
        .slot = SLOT_576, .stack = 0, .drain = 1,
    },
    /* 672: requests of 577 to 672 bytes; 6 blocks a slab, 64 bytes over */
    [CLASS_672] = {
        .usable = 672, .stride = 672, .first = 0, .blocks = 6, .reciprocal = 6544712071,
        .capacity = 3, .list_capacity = 0, .refill = 1, .flush = 1, .spill = 0, .promote = 0,
        .slot = SLOT_672, .stack = 0, .drain = 1,
    },
    /* 800: requests of 673 to 800 bytes; 5 blocks a slab, 96 bytes over */
    [CLASS_800] = {
        .usable = 800, .stride = 800, .first = 0, .blocks = 5, .reciprocal = 5497558139,
        .capacity = 2, .list_capacity = 0, .refill = 1, .flush = 1, .spill = 0, .promote = 0,
        .slot = SLOT_800, .stack = 0, .drain = 1,
    },
    /* 1008: requests of 801 to 1008 bytes; 4 blocks a slab, 64 bytes over */
    [CLASS_1008] = {
        .usable = 1008, .stride = 1008, .first = 0, .blocks = 4, .reciprocal = 4363141381,
        .capacity = 2, .list_capacity = 0, .refill = 1, .flush = 1, .spill = 0, .promote = 0,
        .slot = SLOT_1008, .stack = 0, .drain = 1,
    },
    /* 1360: requests of 1009 to 1360 bytes; 3 blocks a slab, 16 bytes over */
    [CLASS_1360] = {
        .usable = 1360, .stride = 1360, .first = 0, .blocks = 3, .reciprocal = 3233857729,
        .capacity = 1, .list_capacity = 0, .refill = 1, .flush = 1, .spill = 0, .promote = 0,
        .slot = SLOT_1360, .stack = 0, .drain = 1,
    },
    /* 2048: requests of 1361 to 2048 bytes; 2 blocks a slab, 0 bytes over */
    [CLASS_2048] = {
        .usable = 2048, .stride = 2048, .first = 0, .blocks = 2, .reciprocal = 2147483649,
        .capacity = 1, .list_capacity = 0, .refill = 1, .flush = 1, .spill = 0, .promote = 0,
        .slot = SLOT_2048, .stack = 0, .drain = 1,
    },
};

/* All blocks of the class's front leave it. By number and not by address, so that no start writes to the table. */
void hs_drain_front(struct heap *heap, unsigned class)
{
    switch (hs_class[class].drain) {
    case 1:
        linked_list_drain(heap, class);
        break;
    }
}

/* By (request + SIZE_BIAS + GRAIN - 1) / GRAIN. */
const uint8_t hs_size_class[SIZE_CLASS_COUNT] = {
    0, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 16, 17,
    17, 18, 18, 18, 19, 19, 20, 20, 20, 21, 21, 21, 21, 22, 22, 22, 22, 23, 23, 23,
    23, 23, 23, 24, 24, 24, 24, 24, 24, 24, 24, 25, 25, 25, 25, 25, 25, 25, 25, 25,
    25, 25, 25, 25, 26, 26, 26, 26, 26, 26, 26, 26, 26, 26, 26, 26, 26, 26, 26, 26,
    26, 26, 26, 26, 26, 26, 27, 27, 27, 27, 27, 27, 27, 27, 27, 27, 27, 27, 27, 27,
    27, 27, 27, 27, 27, 27, 27, 27, 27, 27, 27, 27, 27, 27, 27, 27, 27, 27, 27, 27,
    27, 27, 27, 27, 27, 27, 27, 27, 27,
};

/* Of a thread without a heap every front is both empty and full: pop and push leave the hit path. */
static void *nothing[1];
struct heap hs_no_heap = {
    .top = {
        nothing + 1,
        [1 + CLASS_16] = nothing + 1,
        [1 + CLASS_32] = nothing + 1,
        [1 + CLASS_48] = nothing + 1,
        [1 + CLASS_64] = nothing + 1,
        [1 + CLASS_80] = nothing + 1,
        [1 + CLASS_96] = nothing + 1,
        [1 + CLASS_112] = nothing + 1,
        [1 + CLASS_128] = nothing + 1,
        [1 + CLASS_144] = nothing + 1,
        [1 + CLASS_160] = nothing + 1,
        [1 + CLASS_176] = nothing + 1,
        [1 + CLASS_192] = nothing + 1,
        [1 + CLASS_208] = nothing + 1,
        [1 + CLASS_224] = nothing + 1,
        [1 + CLASS_240] = nothing + 1,
        [1 + CLASS_256] = nothing + 1,
        [1 + CLASS_288] = nothing + 1,
        [1 + CLASS_320] = nothing + 1,
        [1 + CLASS_368] = nothing + 1,
        [1 + CLASS_400] = nothing + 1,
        [1 + CLASS_448] = nothing + 1,
        [1 + CLASS_512] = nothing + 1,
        [1 + CLASS_576] = nothing + 1,
        [1 + CLASS_672] = nothing + 1,
        [1 + CLASS_800] = nothing + 1,
        [1 + CLASS_1008] = nothing + 1,
        [1 + CLASS_1360] = nothing + 1,
        [1 + CLASS_2048] = nothing + 1,
    },
    .end = {
        nothing + 1,
        [1 + CLASS_16] = nothing + 1,
        [1 + CLASS_32] = nothing + 1,
        [1 + CLASS_48] = nothing + 1,
        [1 + CLASS_64] = nothing + 1,
        [1 + CLASS_80] = nothing + 1,
        [1 + CLASS_96] = nothing + 1,
        [1 + CLASS_112] = nothing + 1,
        [1 + CLASS_128] = nothing + 1,
        [1 + CLASS_144] = nothing + 1,
        [1 + CLASS_160] = nothing + 1,
        [1 + CLASS_176] = nothing + 1,
        [1 + CLASS_192] = nothing + 1,
        [1 + CLASS_208] = nothing + 1,
        [1 + CLASS_224] = nothing + 1,
        [1 + CLASS_240] = nothing + 1,
        [1 + CLASS_256] = nothing + 1,
        [1 + CLASS_288] = nothing + 1,
        [1 + CLASS_320] = nothing + 1,
        [1 + CLASS_368] = nothing + 1,
        [1 + CLASS_400] = nothing + 1,
        [1 + CLASS_448] = nothing + 1,
        [1 + CLASS_512] = nothing + 1,
        [1 + CLASS_576] = nothing + 1,
        [1 + CLASS_672] = nothing + 1,
        [1 + CLASS_800] = nothing + 1,
        [1 + CLASS_1008] = nothing + 1,
        [1 + CLASS_1360] = nothing + 1,
        [1 + CLASS_2048] = nothing + 1,
    },
    .front = {
        [CLASS_16] = { .held = 16 + 1 },
        [CLASS_32] = { .held = 16 + 1 },
        [CLASS_48] = { .held = 16 + 1 },
        [CLASS_64] = { .held = 16 + 1 },
        [CLASS_80] = { .held = 16 + 1 },
        [CLASS_96] = { .held = 16 + 1 },
        [CLASS_112] = { .held = 16 + 1 },
        [CLASS_128] = { .held = 16 + 1 },
        [CLASS_144] = { .held = 14 + 1 },
        [CLASS_160] = { .held = 12 + 1 },
        [CLASS_176] = { .held = 11 + 1 },
        [CLASS_192] = { .held = 10 + 1 },
        [CLASS_208] = { .held = 9 + 1 },
        [CLASS_224] = { .held = 9 + 1 },
        [CLASS_240] = { .held = 8 + 1 },
        [CLASS_256] = { .held = 8 + 1 },
        [CLASS_288] = { .held = 7 + 1 },
        [CLASS_320] = { .held = 6 + 1 },
        [CLASS_368] = { .held = 5 + 1 },
        [CLASS_400] = { .held = 5 + 1 },
        [CLASS_448] = { .held = 4 + 1 },
        [CLASS_512] = { .held = 4 + 1 },
        [CLASS_576] = { .held = 3 + 1 },
        [CLASS_672] = { .held = 3 + 1 },
        [CLASS_800] = { .held = 2 + 1 },
        [CLASS_1008] = { .held = 2 + 1 },
        [CLASS_1360] = { .held = 1 + 1 },
        [CLASS_2048] = { .held = 1 + 1 },
    },
};

__thread struct heap *hs_self = &hs_no_heap;

void hs_become(struct heap *heap)
{
    hs_self = heap;
}
