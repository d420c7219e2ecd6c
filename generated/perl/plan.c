/* The tables of this heap: size classes, size to class, and the heap of a thread that has none.
 *
 * Emitted by heapsmith 0.1.0 from design "perl", content hash 05c1618c1136.
 * Do not edit: change the design, then run: heapsmith generate perl -o DIR
 */
#include "8_threads/front/array_stack.h"
#include "7_large/run_pages.h"
#include "3_records/span.h"

/* What the hit paths and the tables count on. */
_Static_assert(CLASS_32768 + 1 == CLASS_COUNT, "classes are numbered from 0 without a gap");
_Static_assert(SLOT_32768 + 1 + 0 == SLOT_COUNT, "a heap has slots for every class");
_Static_assert((SMALL_LIMIT + SIZE_BIAS + GRAIN - 1) / GRAIN + 1 == SIZE_CLASS_COUNT, "every small size has a class");
_Static_assert((uint64_t)SPAN_SLABS << SLAB_SHIFT == SLAB_SPAN_BYTES, "a slab's number is its offset's upper bits");
_Static_assert((uint64_t)REGIONS * REGION_BYTES == SLAB_SPAN_BYTES, "the regions are the span");
_Static_assert(SLAB_CLASSES_BYTES == 0 || SLAB_CLASSES_BYTES >= SPAN_SLABS, "every slab has a byte of the class map");
_Static_assert(BITMAP_WORDS * 64 >= 2048, "a mark for every block of a slab");

/* Where the model says that these lie (model/memory/layout.py), to know the cache lines that each path touches. */
_Static_assert(offsetof(struct heap, end) == 272, "heap.end");
_Static_assert(offsetof(struct heap, row_of) == 560, "heap.row_of");
_Static_assert(offsetof(struct heap, front) == 1592, "heap.front");
_Static_assert(offsetof(struct heap, remote) == 1616, "heap.remote");
_Static_assert(offsetof(struct heap, store) == 1640, "heap.store");
_Static_assert(offsetof(struct heap, count) == 1656, "heap.count");
_Static_assert(offsetof(struct heap, caches) == 6408, "heap.caches");
_Static_assert(offsetof(struct heap, quarantine) == 6408, "heap.quarantine");
_Static_assert(offsetof(struct heap, slot) == 6424, "heap.slot");
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
_Static_assert(offsetof(struct heap, top) == 0, "heapsmith.h reads top, ...");
_Static_assert(offsetof(struct heap, end) == (1 + CLASS_COUNT) * sizeof(void **), "... end, ...");
_Static_assert(offsetof(struct heap, span) == 2 * (1 + CLASS_COUNT) * sizeof(void **), "... the span's start ...");
_Static_assert(offsetof(struct heap, span_bytes) == offsetof(struct heap, span) + sizeof(void *), "... and bytes");

const char hs_design[] = "perl 05c1618c1136";

const struct class_plan hs_class[CLASS_COUNT] = {
    /* 16: requests of 0 to 16 bytes; 2048 blocks a slab, 0 bytes over */
    [CLASS_16] = {
        .usable = 16, .stride = 16, .first = 0, .blocks = 2048, .reciprocal = 274877906945,
        .capacity = 512, .list_capacity = 0, .refill = 256, .flush = 256, .spill = 0, .promote = 0,
        .slot = SLOT_16, .stack = 512, .drain = 1,
    },
    /* 32: requests of 17 to 32 bytes; 1024 blocks a slab, 0 bytes over */
    [CLASS_32] = {
        .usable = 32, .stride = 32, .first = 0, .blocks = 1024, .reciprocal = 137438953473,
        .capacity = 256, .list_capacity = 0, .refill = 128, .flush = 128, .spill = 0, .promote = 0,
        .slot = SLOT_32, .stack = 256, .drain = 1,
    },
    /* 48: requests of 33 to 48 bytes; 682 blocks a slab, 32 bytes over */
    [CLASS_48] = {
        .usable = 48, .stride = 48, .first = 0, .blocks = 682, .reciprocal = 91625968982,
        .capacity = 170, .list_capacity = 0, .refill = 85, .flush = 85, .spill = 0, .promote = 0,
        .slot = SLOT_48, .stack = 170, .drain = 1,
    },
    /* 64: requests of 49 to 64 bytes; 512 blocks a slab, 0 bytes over */
    [CLASS_64] = {
        .usable = 64, .stride = 64, .first = 0, .blocks = 512, .reciprocal = 68719476737,
        .capacity = 128, .list_capacity = 0, .refill = 64, .flush = 64, .spill = 0, .promote = 0,
        .slot = SLOT_64, .stack = 128, .drain = 1,
    },
    /* 80: requests of 65 to 80 bytes; 409 blocks a slab, 48 bytes over */
    [CLASS_80] = {
        .usable = 80, .stride = 80, .first = 0, .blocks = 409, .reciprocal = 54975581389,
        .capacity = 102, .list_capacity = 0, .refill = 51, .flush = 51, .spill = 0, .promote = 0,
        .slot = SLOT_80, .stack = 102, .drain = 1,
    },
    /* 96: requests of 81 to 96 bytes; 341 blocks a slab, 32 bytes over */
    [CLASS_96] = {
        .usable = 96, .stride = 96, .first = 0, .blocks = 341, .reciprocal = 45812984491,
        .capacity = 85, .list_capacity = 0, .refill = 42, .flush = 42, .spill = 0, .promote = 0,
        .slot = SLOT_96, .stack = 85, .drain = 1,
    },
    /* 128: requests of 97 to 128 bytes; 256 blocks a slab, 0 bytes over */
    [CLASS_128] = {
        .usable = 128, .stride = 128, .first = 0, .blocks = 256, .reciprocal = 34359738369,
        .capacity = 64, .list_capacity = 0, .refill = 32, .flush = 32, .spill = 0, .promote = 0,
        .slot = SLOT_128, .stack = 64, .drain = 1,
    },
    /* 144: requests of 129 to 144 bytes; 227 blocks a slab, 80 bytes over */
    [CLASS_144] = {
        .usable = 144, .stride = 144, .first = 0, .blocks = 227, .reciprocal = 30541989661,
        .capacity = 56, .list_capacity = 0, .refill = 28, .flush = 28, .spill = 0, .promote = 0,
        .slot = SLOT_144, .stack = 56, .drain = 1,
    },
    /* 176: requests of 145 to 176 bytes; 186 blocks a slab, 32 bytes over */
    [CLASS_176] = {
        .usable = 176, .stride = 176, .first = 0, .blocks = 186, .reciprocal = 24988900632,
        .capacity = 46, .list_capacity = 0, .refill = 23, .flush = 23, .spill = 0, .promote = 0,
        .slot = SLOT_176, .stack = 46, .drain = 1,
    },
    /* 224: requests of 177 to 224 bytes; 146 blocks a slab, 64 bytes over */
    [CLASS_224] = {
        .usable = 224, .stride = 224, .first = 0, .blocks = 146, .reciprocal = 19634136211,
        .capacity = 36, .list_capacity = 0, .refill = 18, .flush = 18, .spill = 0, .promote = 0,
        .slot = SLOT_224, .stack = 36, .drain = 1,
    },
    /* 256: requests of 225 to 256 bytes; 128 blocks a slab, 0 bytes over */
    [CLASS_256] = {
        .usable = 256, .stride = 256, .first = 0, .blocks = 128, .reciprocal = 17179869185,
        .capacity = 32, .list_capacity = 0, .refill = 16, .flush = 16, .spill = 0, .promote = 0,
        .slot = SLOT_256, .stack = 32, .drain = 1,
    },
    /* 272: requests of 257 to 272 bytes; 120 blocks a slab, 128 bytes over */
    [CLASS_272] = {
        .usable = 272, .stride = 272, .first = 0, .blocks = 120, .reciprocal = 16169288644,
        .capacity = 30, .list_capacity = 0, .refill = 15, .flush = 15, .spill = 0, .promote = 0,
        .slot = SLOT_272, .stack = 30, .drain = 1,
    },
    /* 384: requests of 273 to 384 bytes; 85 blocks a slab, 128 bytes over */
    [CLASS_384] = {
        .usable = 384, .stride = 384, .first = 0, .blocks = 85, .reciprocal = 11453246123,
        .capacity = 20, .list_capacity = 0, .refill = 10, .flush = 10, .spill = 0, .promote = 0,
        .slot = SLOT_384, .stack = 20, .drain = 1,
    },
    /* 512: requests of 385 to 512 bytes; 64 blocks a slab, 0 bytes over */
    [CLASS_512] = {
        .usable = 512, .stride = 512, .first = 0, .blocks = 64, .reciprocal = 8589934593,
        .capacity = 16, .list_capacity = 0, .refill = 8, .flush = 8, .spill = 0, .promote = 0,
        .slot = SLOT_512, .stack = 16, .drain = 1,
    },
    /* 560: requests of 513 to 560 bytes; 58 blocks a slab, 288 bytes over */
    [CLASS_560] = {
        .usable = 560, .stride = 560, .first = 0, .blocks = 58, .reciprocal = 7853654485,
        .capacity = 14, .list_capacity = 0, .refill = 7, .flush = 7, .spill = 0, .promote = 0,
        .slot = SLOT_560, .stack = 14, .drain = 1,
    },
    /* 752: requests of 561 to 752 bytes; 43 blocks a slab, 432 bytes over */
    [CLASS_752] = {
        .usable = 752, .stride = 752, .first = 0, .blocks = 43, .reciprocal = 5848466106,
        .capacity = 10, .list_capacity = 0, .refill = 5, .flush = 5, .spill = 0, .promote = 0,
        .slot = SLOT_752, .stack = 10, .drain = 1,
    },
    /* 1024: requests of 753 to 1024 bytes; 32 blocks a slab, 0 bytes over */
    [CLASS_1024] = {
        .usable = 1024, .stride = 1024, .first = 0, .blocks = 32, .reciprocal = 4294967297,
        .capacity = 8, .list_capacity = 0, .refill = 4, .flush = 4, .spill = 0, .promote = 0,
        .slot = SLOT_1024, .stack = 8, .drain = 1,
    },
    /* 1168: requests of 1025 to 1168 bytes; 28 blocks a slab, 64 bytes over */
    [CLASS_1168] = {
        .usable = 1168, .stride = 1168, .first = 0, .blocks = 28, .reciprocal = 3765450781,
        .capacity = 6, .list_capacity = 0, .refill = 3, .flush = 3, .spill = 0, .promote = 0,
        .slot = SLOT_1168, .stack = 6, .drain = 1,
    },
    /* 1568: requests of 1169 to 1568 bytes; 20 blocks a slab, 1408 bytes over */
    [CLASS_1568] = {
        .usable = 1568, .stride = 1568, .first = 0, .blocks = 20, .reciprocal = 2804876602,
        .capacity = 4, .list_capacity = 0, .refill = 2, .flush = 2, .spill = 0, .promote = 0,
        .slot = SLOT_1568, .stack = 4, .drain = 1,
    },
    /* 2112: requests of 1569 to 2112 bytes; 15 blocks a slab, 1088 bytes over */
    [CLASS_2112] = {
        .usable = 2112, .stride = 2112, .first = 0, .blocks = 15, .reciprocal = 2082408386,
        .capacity = 3, .list_capacity = 0, .refill = 1, .flush = 1, .spill = 0, .promote = 0,
        .slot = SLOT_2112, .stack = 3, .drain = 1,
    },
    /* 2720: requests of 2113 to 2720 bytes; 12 blocks a slab, 128 bytes over */
    [CLASS_2720] = {
        .usable = 2720, .stride = 2720, .first = 0, .blocks = 12, .reciprocal = 1616928865,
        .capacity = 2, .list_capacity = 0, .refill = 1, .flush = 1, .spill = 0, .promote = 0,
        .slot = SLOT_2720, .stack = 2, .drain = 1,
    },
    /* 3632: requests of 2721 to 3632 bytes; 9 blocks a slab, 80 bytes over */
    [CLASS_3632] = {
        .usable = 3632, .stride = 3632, .first = 0, .blocks = 9, .reciprocal = 1210915890,
        .capacity = 2, .list_capacity = 0, .refill = 1, .flush = 1, .spill = 0, .promote = 0,
        .slot = SLOT_3632, .stack = 2, .drain = 1,
    },
    /* 4096: requests of 3633 to 4096 bytes; 8 blocks a slab, 0 bytes over */
    [CLASS_4096] = {
        .usable = 4096, .stride = 4096, .first = 0, .blocks = 8, .reciprocal = 1073741825,
        .capacity = 1, .list_capacity = 0, .refill = 1, .flush = 1, .spill = 0, .promote = 0,
        .slot = SLOT_4096, .stack = 1, .drain = 1,
    },
    /* 4672: requests of 4097 to 4672 bytes; 7 blocks a slab, 64 bytes over */
    [CLASS_4672] = {
        .usable = 4672, .stride = 4672, .first = 0, .blocks = 7, .reciprocal = 941362696,
        .capacity = 1, .list_capacity = 0, .refill = 1, .flush = 1, .spill = 0, .promote = 0,
        .slot = SLOT_4672, .stack = 1, .drain = 1,
    },
    /* 5456: requests of 4673 to 5456 bytes; 6 blocks a slab, 32 bytes over */
    [CLASS_5456] = {
        .usable = 5456, .stride = 5456, .first = 0, .blocks = 6, .reciprocal = 806093569,
        .capacity = 1, .list_capacity = 0, .refill = 1, .flush = 1, .spill = 0, .promote = 0,
        .slot = SLOT_5456, .stack = 1, .drain = 1,
    },
    /* 7168: requests of 5457 to 7168 bytes; 4 blocks a slab, 4096 bytes over */
    [CLASS_7168] = {
        .usable = 7168, .stride = 7168, .first = 0, .blocks = 4, .reciprocal = 613566757,
        .capacity = 1, .list_capacity = 0, .refill = 1, .flush = 1, .spill = 0, .promote = 0,
        .slot = SLOT_7168, .stack = 1, .drain = 1,
    },
    /* 9552: requests of 7169 to 9552 bytes; 3 blocks a slab, 4112 bytes over */
    [CLASS_9552] = {
        .usable = 9552, .stride = 9552, .first = 0, .blocks = 3, .reciprocal = 460432005,
        .capacity = 1, .list_capacity = 0, .refill = 1, .flush = 1, .spill = 0, .promote = 0,
        .slot = SLOT_9552, .stack = 1, .drain = 1,
    },
    /* 12288: requests of 9553 to 12288 bytes; 2 blocks a slab, 8192 bytes over */
    [CLASS_12288] = {
        .usable = 12288, .stride = 12288, .first = 0, .blocks = 2, .reciprocal = 357913942,
        .capacity = 1, .list_capacity = 0, .refill = 1, .flush = 1, .spill = 0, .promote = 0,
        .slot = SLOT_12288, .stack = 1, .drain = 1,
    },
    /* 16384: requests of 12289 to 16384 bytes; 2 blocks a slab, 0 bytes over */
    [CLASS_16384] = {
        .usable = 16384, .stride = 16384, .first = 0, .blocks = 2, .reciprocal = 268435457,
        .capacity = 1, .list_capacity = 0, .refill = 1, .flush = 1, .spill = 0, .promote = 0,
        .slot = SLOT_16384, .stack = 1, .drain = 1,
    },
    /* 20480: requests of 16385 to 20480 bytes; 1 blocks a slab, 12288 bytes over */
    [CLASS_20480] = {
        .usable = 20480, .stride = 20480, .first = 0, .blocks = 1, .reciprocal = 214748365,
        .capacity = 1, .list_capacity = 0, .refill = 1, .flush = 1, .spill = 0, .promote = 0,
        .slot = SLOT_20480, .stack = 1, .drain = 1,
    },
    /* 24576: requests of 20481 to 24576 bytes; 1 blocks a slab, 8192 bytes over */
    [CLASS_24576] = {
        .usable = 24576, .stride = 24576, .first = 0, .blocks = 1, .reciprocal = 178956971,
        .capacity = 1, .list_capacity = 0, .refill = 1, .flush = 1, .spill = 0, .promote = 0,
        .slot = SLOT_24576, .stack = 1, .drain = 1,
    },
    /* 28672: requests of 24577 to 28672 bytes; 1 blocks a slab, 4096 bytes over */
    [CLASS_28672] = {
        .usable = 28672, .stride = 28672, .first = 0, .blocks = 1, .reciprocal = 153391690,
        .capacity = 1, .list_capacity = 0, .refill = 1, .flush = 1, .spill = 0, .promote = 0,
        .slot = SLOT_28672, .stack = 1, .drain = 1,
    },
    /* 32768: requests of 28673 to 32768 bytes; 1 blocks a slab, 0 bytes over */
    [CLASS_32768] = {
        .usable = 32768, .stride = 32768, .first = 0, .blocks = 1, .reciprocal = 134217729,
        .capacity = 1, .list_capacity = 0, .refill = 1, .flush = 1, .spill = 0, .promote = 0,
        .slot = SLOT_32768, .stack = 1, .drain = 1,
    },
};

/* All blocks of the class's front leave it. By number and not by address, so that no start writes to the table. */
void hs_drain_front(struct heap *heap, unsigned class)
{
    switch (hs_class[class].drain) {
    case 1:
        stack_drain(heap, class);
        break;
    }
}

/* By (request + SIZE_BIAS + GRAIN - 1) / GRAIN. */
const uint8_t hs_size_class[SIZE_CLASS_COUNT] = {
    0, 0, 1, 2, 3, 4, 5, 6, 6, 7, 8, 8, 9, 9, 9, 10, 10, 11, 12, 12,
    12, 12, 12, 12, 12, 13, 13, 13, 13, 13, 13, 13, 13, 14, 14, 14, 15, 15, 15, 15,
    15, 15, 15, 15, 15, 15, 15, 15, 16, 16, 16, 16, 16, 16, 16, 16, 16, 16, 16, 16,
    16, 16, 16, 16, 16, 17, 17, 17, 17, 17, 17, 17, 17, 17, 18, 18, 18, 18, 18, 18,
    18, 18, 18, 18, 18, 18, 18, 18, 18, 18, 18, 18, 18, 18, 18, 18, 18, 18, 18, 19,
    19, 19, 19, 19, 19, 19, 19, 19, 19, 19, 19, 19, 19, 19, 19, 19, 19, 19, 19, 19,
    19, 19, 19, 19, 19, 19, 19, 19, 19, 19, 19, 19, 19, 20, 20, 20, 20, 20, 20, 20,
    20, 20, 20, 20, 20, 20, 20, 20, 20, 20, 20, 20, 20, 20, 20, 20, 20, 20, 20, 20,
    20, 20, 20, 20, 20, 20, 20, 20, 20, 20, 20, 21, 21, 21, 21, 21, 21, 21, 21, 21,
    21, 21, 21, 21, 21, 21, 21, 21, 21, 21, 21, 21, 21, 21, 21, 21, 21, 21, 21, 21,
    21, 21, 21, 21, 21, 21, 21, 21, 21, 21, 21, 21, 21, 21, 21, 21, 21, 21, 21, 21,
    21, 21, 21, 21, 21, 21, 21, 21, 22, 22, 22, 22, 22, 22, 22, 22, 22, 22, 22, 22,
    22, 22, 22, 22, 22, 22, 22, 22, 22, 22, 22, 22, 22, 22, 22, 22, 22, 23, 23, 23,
    23, 23, 23, 23, 23, 23, 23, 23, 23, 23, 23, 23, 23, 23, 23, 23, 23, 23, 23, 23,
    23, 23, 23, 23, 23, 23, 23, 23, 23, 23, 23, 23, 23, 24, 24, 24, 24, 24, 24, 24,
    24, 24, 24, 24, 24, 24, 24, 24, 24, 24, 24, 24, 24, 24, 24, 24, 24, 24, 24, 24,
    24, 24, 24, 24, 24, 24, 24, 24, 24, 24, 24, 24, 24, 24, 24, 24, 24, 24, 24, 24,
    24, 24, 25, 25, 25, 25, 25, 25, 25, 25, 25, 25, 25, 25, 25, 25, 25, 25, 25, 25,
    25, 25, 25, 25, 25, 25, 25, 25, 25, 25, 25, 25, 25, 25, 25, 25, 25, 25, 25, 25,
    25, 25, 25, 25, 25, 25, 25, 25, 25, 25, 25, 25, 25, 25, 25, 25, 25, 25, 25, 25,
    25, 25, 25, 25, 25, 25, 25, 25, 25, 25, 25, 25, 25, 25, 25, 25, 25, 25, 25, 25,
    25, 25, 25, 25, 25, 25, 25, 25, 25, 25, 25, 25, 25, 25, 25, 25, 25, 25, 25, 25,
    25, 25, 25, 25, 25, 25, 25, 25, 25, 26, 26, 26, 26, 26, 26, 26, 26, 26, 26, 26,
    26, 26, 26, 26, 26, 26, 26, 26, 26, 26, 26, 26, 26, 26, 26, 26, 26, 26, 26, 26,
    26, 26, 26, 26, 26, 26, 26, 26, 26, 26, 26, 26, 26, 26, 26, 26, 26, 26, 26, 26,
    26, 26, 26, 26, 26, 26, 26, 26, 26, 26, 26, 26, 26, 26, 26, 26, 26, 26, 26, 26,
    26, 26, 26, 26, 26, 26, 26, 26, 26, 26, 26, 26, 26, 26, 26, 26, 26, 26, 26, 26,
    26, 26, 26, 26, 26, 26, 26, 26, 26, 26, 26, 26, 26, 26, 26, 26, 26, 26, 26, 26,
    26, 26, 26, 26, 26, 26, 26, 26, 26, 26, 26, 26, 26, 26, 26, 26, 26, 26, 26, 26,
    26, 26, 26, 26, 26, 26, 26, 26, 26, 26, 26, 26, 26, 26, 26, 26, 26, 26, 27, 27,
    27, 27, 27, 27, 27, 27, 27, 27, 27, 27, 27, 27, 27, 27, 27, 27, 27, 27, 27, 27,
    27, 27, 27, 27, 27, 27, 27, 27, 27, 27, 27, 27, 27, 27, 27, 27, 27, 27, 27, 27,
    27, 27, 27, 27, 27, 27, 27, 27, 27, 27, 27, 27, 27, 27, 27, 27, 27, 27, 27, 27,
    27, 27, 27, 27, 27, 27, 27, 27, 27, 27, 27, 27, 27, 27, 27, 27, 27, 27, 27, 27,
    27, 27, 27, 27, 27, 27, 27, 27, 27, 27, 27, 27, 27, 27, 27, 27, 27, 27, 27, 27,
    27, 27, 27, 27, 27, 27, 27, 27, 27, 27, 27, 27, 27, 27, 27, 27, 27, 27, 27, 27,
    27, 27, 27, 27, 27, 27, 27, 27, 27, 27, 27, 27, 27, 27, 27, 27, 27, 27, 27, 27,
    27, 27, 27, 27, 27, 27, 27, 27, 27, 27, 27, 27, 27, 27, 27, 27, 27, 27, 27, 27,
    27, 27, 27, 27, 27, 27, 27, 27, 27, 28, 28, 28, 28, 28, 28, 28, 28, 28, 28, 28,
    28, 28, 28, 28, 28, 28, 28, 28, 28, 28, 28, 28, 28, 28, 28, 28, 28, 28, 28, 28,
    28, 28, 28, 28, 28, 28, 28, 28, 28, 28, 28, 28, 28, 28, 28, 28, 28, 28, 28, 28,
    28, 28, 28, 28, 28, 28, 28, 28, 28, 28, 28, 28, 28, 28, 28, 28, 28, 28, 28, 28,
    28, 28, 28, 28, 28, 28, 28, 28, 28, 28, 28, 28, 28, 28, 28, 28, 28, 28, 28, 28,
    28, 28, 28, 28, 28, 28, 28, 28, 28, 28, 28, 28, 28, 28, 28, 28, 28, 28, 28, 28,
    28, 28, 28, 28, 28, 28, 28, 28, 28, 28, 28, 28, 28, 28, 28, 28, 28, 28, 28, 28,
    28, 28, 28, 28, 28, 28, 28, 28, 28, 28, 28, 28, 28, 28, 28, 28, 28, 28, 28, 28,
    28, 28, 28, 28, 28, 28, 28, 28, 28, 28, 28, 28, 28, 28, 28, 28, 28, 28, 28, 28,
    28, 28, 28, 28, 28, 28, 28, 28, 28, 28, 28, 28, 28, 28, 28, 28, 28, 28, 28, 28,
    28, 28, 28, 28, 28, 28, 28, 28, 28, 28, 28, 28, 28, 28, 28, 28, 28, 28, 28, 28,
    28, 28, 28, 28, 28, 28, 28, 28, 28, 28, 28, 28, 28, 28, 28, 28, 28, 28, 28, 28,
    28, 28, 28, 28, 28, 28, 28, 28, 28, 28, 28, 28, 28, 28, 28, 28, 28, 28, 28, 28,
    28, 28, 28, 28, 28, 29, 29, 29, 29, 29, 29, 29, 29, 29, 29, 29, 29, 29, 29, 29,
    29, 29, 29, 29, 29, 29, 29, 29, 29, 29, 29, 29, 29, 29, 29, 29, 29, 29, 29, 29,
    29, 29, 29, 29, 29, 29, 29, 29, 29, 29, 29, 29, 29, 29, 29, 29, 29, 29, 29, 29,
    29, 29, 29, 29, 29, 29, 29, 29, 29, 29, 29, 29, 29, 29, 29, 29, 29, 29, 29, 29,
    29, 29, 29, 29, 29, 29, 29, 29, 29, 29, 29, 29, 29, 29, 29, 29, 29, 29, 29, 29,
    29, 29, 29, 29, 29, 29, 29, 29, 29, 29, 29, 29, 29, 29, 29, 29, 29, 29, 29, 29,
    29, 29, 29, 29, 29, 29, 29, 29, 29, 29, 29, 29, 29, 29, 29, 29, 29, 29, 29, 29,
    29, 29, 29, 29, 29, 29, 29, 29, 29, 29, 29, 29, 29, 29, 29, 29, 29, 29, 29, 29,
    29, 29, 29, 29, 29, 29, 29, 29, 29, 29, 29, 29, 29, 29, 29, 29, 29, 29, 29, 29,
    29, 29, 29, 29, 29, 29, 29, 29, 29, 29, 29, 29, 29, 29, 29, 29, 29, 29, 29, 29,
    29, 29, 29, 29, 29, 29, 29, 29, 29, 29, 29, 29, 29, 29, 29, 29, 29, 29, 29, 29,
    29, 29, 29, 29, 29, 29, 29, 29, 29, 29, 29, 29, 29, 29, 29, 29, 29, 29, 29, 29,
    29, 29, 29, 29, 29, 29, 29, 29, 29, 29, 29, 29, 29, 29, 29, 29, 29, 29, 29, 29,
    29, 30, 30, 30, 30, 30, 30, 30, 30, 30, 30, 30, 30, 30, 30, 30, 30, 30, 30, 30,
    30, 30, 30, 30, 30, 30, 30, 30, 30, 30, 30, 30, 30, 30, 30, 30, 30, 30, 30, 30,
    30, 30, 30, 30, 30, 30, 30, 30, 30, 30, 30, 30, 30, 30, 30, 30, 30, 30, 30, 30,
    30, 30, 30, 30, 30, 30, 30, 30, 30, 30, 30, 30, 30, 30, 30, 30, 30, 30, 30, 30,
    30, 30, 30, 30, 30, 30, 30, 30, 30, 30, 30, 30, 30, 30, 30, 30, 30, 30, 30, 30,
    30, 30, 30, 30, 30, 30, 30, 30, 30, 30, 30, 30, 30, 30, 30, 30, 30, 30, 30, 30,
    30, 30, 30, 30, 30, 30, 30, 30, 30, 30, 30, 30, 30, 30, 30, 30, 30, 30, 30, 30,
    30, 30, 30, 30, 30, 30, 30, 30, 30, 30, 30, 30, 30, 30, 30, 30, 30, 30, 30, 30,
    30, 30, 30, 30, 30, 30, 30, 30, 30, 30, 30, 30, 30, 30, 30, 30, 30, 30, 30, 30,
    30, 30, 30, 30, 30, 30, 30, 30, 30, 30, 30, 30, 30, 30, 30, 30, 30, 30, 30, 30,
    30, 30, 30, 30, 30, 30, 30, 30, 30, 30, 30, 30, 30, 30, 30, 30, 30, 30, 30, 30,
    30, 30, 30, 30, 30, 30, 30, 30, 30, 30, 30, 30, 30, 30, 30, 30, 30, 30, 30, 30,
    30, 30, 30, 30, 30, 30, 30, 30, 30, 30, 30, 30, 30, 30, 30, 30, 30, 31, 31, 31,
    31, 31, 31, 31, 31, 31, 31, 31, 31, 31, 31, 31, 31, 31, 31, 31, 31, 31, 31, 31,
    31, 31, 31, 31, 31, 31, 31, 31, 31, 31, 31, 31, 31, 31, 31, 31, 31, 31, 31, 31,
    31, 31, 31, 31, 31, 31, 31, 31, 31, 31, 31, 31, 31, 31, 31, 31, 31, 31, 31, 31,
    31, 31, 31, 31, 31, 31, 31, 31, 31, 31, 31, 31, 31, 31, 31, 31, 31, 31, 31, 31,
    31, 31, 31, 31, 31, 31, 31, 31, 31, 31, 31, 31, 31, 31, 31, 31, 31, 31, 31, 31,
    31, 31, 31, 31, 31, 31, 31, 31, 31, 31, 31, 31, 31, 31, 31, 31, 31, 31, 31, 31,
    31, 31, 31, 31, 31, 31, 31, 31, 31, 31, 31, 31, 31, 31, 31, 31, 31, 31, 31, 31,
    31, 31, 31, 31, 31, 31, 31, 31, 31, 31, 31, 31, 31, 31, 31, 31, 31, 31, 31, 31,
    31, 31, 31, 31, 31, 31, 31, 31, 31, 31, 31, 31, 31, 31, 31, 31, 31, 31, 31, 31,
    31, 31, 31, 31, 31, 31, 31, 31, 31, 31, 31, 31, 31, 31, 31, 31, 31, 31, 31, 31,
    31, 31, 31, 31, 31, 31, 31, 31, 31, 31, 31, 31, 31, 31, 31, 31, 31, 31, 31, 31,
    31, 31, 31, 31, 31, 31, 31, 31, 31, 31, 31, 31, 31, 31, 31, 31, 31, 31, 31, 31,
    31, 31, 31, 31, 31, 31, 31, 31, 31, 31, 31, 31, 31, 32, 32, 32, 32, 32, 32, 32,
    32, 32, 32, 32, 32, 32, 32, 32, 32, 32, 32, 32, 32, 32, 32, 32, 32, 32, 32, 32,
    32, 32, 32, 32, 32, 32, 32, 32, 32, 32, 32, 32, 32, 32, 32, 32, 32, 32, 32, 32,
    32, 32, 32, 32, 32, 32, 32, 32, 32, 32, 32, 32, 32, 32, 32, 32, 32, 32, 32, 32,
    32, 32, 32, 32, 32, 32, 32, 32, 32, 32, 32, 32, 32, 32, 32, 32, 32, 32, 32, 32,
    32, 32, 32, 32, 32, 32, 32, 32, 32, 32, 32, 32, 32, 32, 32, 32, 32, 32, 32, 32,
    32, 32, 32, 32, 32, 32, 32, 32, 32, 32, 32, 32, 32, 32, 32, 32, 32, 32, 32, 32,
    32, 32, 32, 32, 32, 32, 32, 32, 32, 32, 32, 32, 32, 32, 32, 32, 32, 32, 32, 32,
    32, 32, 32, 32, 32, 32, 32, 32, 32, 32, 32, 32, 32, 32, 32, 32, 32, 32, 32, 32,
    32, 32, 32, 32, 32, 32, 32, 32, 32, 32, 32, 32, 32, 32, 32, 32, 32, 32, 32, 32,
    32, 32, 32, 32, 32, 32, 32, 32, 32, 32, 32, 32, 32, 32, 32, 32, 32, 32, 32, 32,
    32, 32, 32, 32, 32, 32, 32, 32, 32, 32, 32, 32, 32, 32, 32, 32, 32, 32, 32, 32,
    32, 32, 32, 32, 32, 32, 32, 32, 32, 32, 32, 32, 32, 32, 32, 32, 32, 32, 32, 32,
    32, 32, 32, 32, 32, 32, 32, 32, 32,
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
        [1 + CLASS_128] = nothing + 1,
        [1 + CLASS_144] = nothing + 1,
        [1 + CLASS_176] = nothing + 1,
        [1 + CLASS_224] = nothing + 1,
        [1 + CLASS_256] = nothing + 1,
        [1 + CLASS_272] = nothing + 1,
        [1 + CLASS_384] = nothing + 1,
        [1 + CLASS_512] = nothing + 1,
        [1 + CLASS_560] = nothing + 1,
        [1 + CLASS_752] = nothing + 1,
        [1 + CLASS_1024] = nothing + 1,
        [1 + CLASS_1168] = nothing + 1,
        [1 + CLASS_1568] = nothing + 1,
        [1 + CLASS_2112] = nothing + 1,
        [1 + CLASS_2720] = nothing + 1,
        [1 + CLASS_3632] = nothing + 1,
        [1 + CLASS_4096] = nothing + 1,
        [1 + CLASS_4672] = nothing + 1,
        [1 + CLASS_5456] = nothing + 1,
        [1 + CLASS_7168] = nothing + 1,
        [1 + CLASS_9552] = nothing + 1,
        [1 + CLASS_12288] = nothing + 1,
        [1 + CLASS_16384] = nothing + 1,
        [1 + CLASS_20480] = nothing + 1,
        [1 + CLASS_24576] = nothing + 1,
        [1 + CLASS_28672] = nothing + 1,
        [1 + CLASS_32768] = nothing + 1,
    },
    .end = {
        nothing + 1,
        [1 + CLASS_16] = nothing + 1,
        [1 + CLASS_32] = nothing + 1,
        [1 + CLASS_48] = nothing + 1,
        [1 + CLASS_64] = nothing + 1,
        [1 + CLASS_80] = nothing + 1,
        [1 + CLASS_96] = nothing + 1,
        [1 + CLASS_128] = nothing + 1,
        [1 + CLASS_144] = nothing + 1,
        [1 + CLASS_176] = nothing + 1,
        [1 + CLASS_224] = nothing + 1,
        [1 + CLASS_256] = nothing + 1,
        [1 + CLASS_272] = nothing + 1,
        [1 + CLASS_384] = nothing + 1,
        [1 + CLASS_512] = nothing + 1,
        [1 + CLASS_560] = nothing + 1,
        [1 + CLASS_752] = nothing + 1,
        [1 + CLASS_1024] = nothing + 1,
        [1 + CLASS_1168] = nothing + 1,
        [1 + CLASS_1568] = nothing + 1,
        [1 + CLASS_2112] = nothing + 1,
        [1 + CLASS_2720] = nothing + 1,
        [1 + CLASS_3632] = nothing + 1,
        [1 + CLASS_4096] = nothing + 1,
        [1 + CLASS_4672] = nothing + 1,
        [1 + CLASS_5456] = nothing + 1,
        [1 + CLASS_7168] = nothing + 1,
        [1 + CLASS_9552] = nothing + 1,
        [1 + CLASS_12288] = nothing + 1,
        [1 + CLASS_16384] = nothing + 1,
        [1 + CLASS_20480] = nothing + 1,
        [1 + CLASS_24576] = nothing + 1,
        [1 + CLASS_28672] = nothing + 1,
        [1 + CLASS_32768] = nothing + 1,
    },
};

__thread struct heap *hs_self = &hs_no_heap;

/* hs_self for what heapsmith.h inlines, under a name that no library of another header has. In the checked build always
 * the heap of no thread: so each call comes here, is counted and is checked. */
static __thread struct heap *inlined = &hs_no_heap;
extern __thread struct heap *hs_heap_05c1618c1136_1585fd __attribute__((alias("inlined"), visibility("default")));

void hs_become(struct heap *heap)
{
    hs_self = heap;
    inlined = HEAPSMITH_CHECKED ? &hs_no_heap : heap;
}
