/* The tables of this heap: size classes, size to class, and the heap of a thread that has none.
 *
 * Emitted by heapsmith 0.1.0 from design "owner", content hash dc44d90fd7fa.
 * Do not edit: change the design, then run: heapsmith generate owner -o DIR
 */
#include "8_threads/front/array_stack.h"
#include "7_large/run_pages.h"
#include "3_records/span.h"

/* What the hit paths and the tables count on. */
_Static_assert(CLASS_8192 + 1 == CLASS_COUNT, "classes are numbered from 0 without a gap");
_Static_assert(SLOT_8192 + 2 + 0 == SLOT_COUNT, "a heap has slots for every class");
_Static_assert((SMALL_LIMIT + SIZE_BIAS + GRAIN - 1) / GRAIN + 1 == SIZE_CLASS_COUNT, "every small size has a class");
_Static_assert((uint64_t)SPAN_SLABS << SLAB_SHIFT == SLAB_SPAN_BYTES, "a slab's number is its offset's upper bits");
_Static_assert((uint64_t)REGIONS * REGION_BYTES == SLAB_SPAN_BYTES, "the regions are the span");
_Static_assert(SLAB_CLASSES_BYTES == 0 || SLAB_CLASSES_BYTES >= SPAN_SLABS, "every slab has a byte of the class map");
_Static_assert(BITMAP_WORDS * 64 >= 1024, "a mark for every block of a slab");

/* Where the model says that these lie (model/memory/layout.py), to know the cache lines that each path touches. */
_Static_assert(offsetof(struct heap, end) == 240, "heap.end");
_Static_assert(offsetof(struct heap, row_of) == 496, "heap.row_of");
_Static_assert(offsetof(struct heap, front) == 1528, "heap.front");
_Static_assert(offsetof(struct heap, remote) == 2224, "heap.remote");
_Static_assert(offsetof(struct heap, store) == 2248, "heap.store");
_Static_assert(offsetof(struct heap, count) == 2712, "heap.count");
_Static_assert(offsetof(struct heap, runs) == 6888, "heap.runs");
_Static_assert(offsetof(struct heap, quarantine) == 7088, "heap.quarantine");
_Static_assert(offsetof(struct heap, slot) == 7104, "heap.slot");
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
_Static_assert(offsetof(struct run_cache, length) == 8, "run_cache.length");
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

const char hs_design[] = "owner dc44d90fd7fa";

const struct class_plan hs_class[CLASS_COUNT] = {
    /* 16: requests of 0 to 16 bytes; 1024 blocks a slab, 0 bytes over */
    [CLASS_16] = {
        .usable = 16, .stride = 16, .first = 0, .blocks = 1024, .reciprocal = 274877906945,
        .capacity = 64, .list_capacity = 0, .refill = 32, .flush = 32, .spill = 0, .promote = 0,
        .slot = SLOT_16, .stack = 64, .transfer = 0, .transfer_slot = 0, .drain = stack_drain,
    },
    /* 32: requests of 17 to 32 bytes; 512 blocks a slab, 0 bytes over */
    [CLASS_32] = {
        .usable = 32, .stride = 32, .first = 0, .blocks = 512, .reciprocal = 137438953473,
        .capacity = 64, .list_capacity = 0, .refill = 32, .flush = 32, .spill = 0, .promote = 0,
        .slot = SLOT_32, .stack = 64, .transfer = 0, .transfer_slot = 0, .drain = stack_drain,
    },
    /* 48: requests of 33 to 48 bytes; 341 blocks a slab, 16 bytes over */
    [CLASS_48] = {
        .usable = 48, .stride = 48, .first = 0, .blocks = 341, .reciprocal = 91625968982,
        .capacity = 64, .list_capacity = 0, .refill = 32, .flush = 32, .spill = 0, .promote = 0,
        .slot = SLOT_48, .stack = 64, .transfer = 0, .transfer_slot = 0, .drain = stack_drain,
    },
    /* 64: requests of 49 to 64 bytes; 256 blocks a slab, 0 bytes over */
    [CLASS_64] = {
        .usable = 64, .stride = 64, .first = 0, .blocks = 256, .reciprocal = 68719476737,
        .capacity = 64, .list_capacity = 0, .refill = 32, .flush = 32, .spill = 0, .promote = 0,
        .slot = SLOT_64, .stack = 64, .transfer = 0, .transfer_slot = 0, .drain = stack_drain,
    },
    /* 80: requests of 65 to 80 bytes; 204 blocks a slab, 64 bytes over */
    [CLASS_80] = {
        .usable = 80, .stride = 80, .first = 0, .blocks = 204, .reciprocal = 54975581389,
        .capacity = 64, .list_capacity = 0, .refill = 32, .flush = 32, .spill = 0, .promote = 0,
        .slot = SLOT_80, .stack = 64, .transfer = 0, .transfer_slot = 0, .drain = stack_drain,
    },
    /* 96: requests of 81 to 96 bytes; 170 blocks a slab, 64 bytes over */
    [CLASS_96] = {
        .usable = 96, .stride = 96, .first = 0, .blocks = 170, .reciprocal = 45812984491,
        .capacity = 64, .list_capacity = 0, .refill = 32, .flush = 32, .spill = 0, .promote = 0,
        .slot = SLOT_96, .stack = 64, .transfer = 0, .transfer_slot = 0, .drain = stack_drain,
    },
    /* 112: requests of 97 to 112 bytes; 146 blocks a slab, 32 bytes over */
    [CLASS_112] = {
        .usable = 112, .stride = 112, .first = 0, .blocks = 146, .reciprocal = 39268272421,
        .capacity = 64, .list_capacity = 0, .refill = 32, .flush = 32, .spill = 0, .promote = 0,
        .slot = SLOT_112, .stack = 64, .transfer = 0, .transfer_slot = 0, .drain = stack_drain,
    },
    /* 128: requests of 113 to 128 bytes; 128 blocks a slab, 0 bytes over */
    [CLASS_128] = {
        .usable = 128, .stride = 128, .first = 0, .blocks = 128, .reciprocal = 34359738369,
        .capacity = 64, .list_capacity = 0, .refill = 32, .flush = 32, .spill = 0, .promote = 0,
        .slot = SLOT_128, .stack = 64, .transfer = 0, .transfer_slot = 0, .drain = stack_drain,
    },
    /* 160: requests of 129 to 160 bytes; 102 blocks a slab, 64 bytes over */
    [CLASS_160] = {
        .usable = 160, .stride = 160, .first = 0, .blocks = 102, .reciprocal = 27487790695,
        .capacity = 64, .list_capacity = 0, .refill = 25, .flush = 32, .spill = 0, .promote = 0,
        .slot = SLOT_160, .stack = 64, .transfer = 0, .transfer_slot = 0, .drain = stack_drain,
    },
    /* 192: requests of 161 to 192 bytes; 85 blocks a slab, 64 bytes over */
    [CLASS_192] = {
        .usable = 192, .stride = 192, .first = 0, .blocks = 85, .reciprocal = 22906492246,
        .capacity = 64, .list_capacity = 0, .refill = 21, .flush = 32, .spill = 0, .promote = 0,
        .slot = SLOT_192, .stack = 64, .transfer = 0, .transfer_slot = 0, .drain = stack_drain,
    },
    /* 224: requests of 193 to 224 bytes; 73 blocks a slab, 32 bytes over */
    [CLASS_224] = {
        .usable = 224, .stride = 224, .first = 0, .blocks = 73, .reciprocal = 19634136211,
        .capacity = 64, .list_capacity = 0, .refill = 18, .flush = 32, .spill = 0, .promote = 0,
        .slot = SLOT_224, .stack = 64, .transfer = 0, .transfer_slot = 0, .drain = stack_drain,
    },
    /* 256: requests of 225 to 256 bytes; 64 blocks a slab, 0 bytes over */
    [CLASS_256] = {
        .usable = 256, .stride = 256, .first = 0, .blocks = 64, .reciprocal = 17179869185,
        .capacity = 64, .list_capacity = 0, .refill = 16, .flush = 32, .spill = 0, .promote = 0,
        .slot = SLOT_256, .stack = 64, .transfer = 0, .transfer_slot = 0, .drain = stack_drain,
    },
    /* 320: requests of 257 to 320 bytes; 51 blocks a slab, 64 bytes over */
    [CLASS_320] = {
        .usable = 320, .stride = 320, .first = 0, .blocks = 51, .reciprocal = 13743895348,
        .capacity = 51, .list_capacity = 0, .refill = 12, .flush = 25, .spill = 0, .promote = 0,
        .slot = SLOT_320, .stack = 51, .transfer = 0, .transfer_slot = 0, .drain = stack_drain,
    },
    /* 384: requests of 321 to 384 bytes; 42 blocks a slab, 256 bytes over */
    [CLASS_384] = {
        .usable = 384, .stride = 384, .first = 0, .blocks = 42, .reciprocal = 11453246123,
        .capacity = 42, .list_capacity = 0, .refill = 10, .flush = 21, .spill = 0, .promote = 0,
        .slot = SLOT_384, .stack = 42, .transfer = 0, .transfer_slot = 0, .drain = stack_drain,
    },
    /* 448: requests of 385 to 448 bytes; 36 blocks a slab, 256 bytes over */
    [CLASS_448] = {
        .usable = 448, .stride = 448, .first = 0, .blocks = 36, .reciprocal = 9817068106,
        .capacity = 36, .list_capacity = 0, .refill = 9, .flush = 18, .spill = 0, .promote = 0,
        .slot = SLOT_448, .stack = 36, .transfer = 0, .transfer_slot = 0, .drain = stack_drain,
    },
    /* 512: requests of 449 to 512 bytes; 32 blocks a slab, 0 bytes over */
    [CLASS_512] = {
        .usable = 512, .stride = 512, .first = 0, .blocks = 32, .reciprocal = 8589934593,
        .capacity = 32, .list_capacity = 0, .refill = 8, .flush = 16, .spill = 0, .promote = 0,
        .slot = SLOT_512, .stack = 32, .transfer = 0, .transfer_slot = 0, .drain = stack_drain,
    },
    /* 640: requests of 513 to 640 bytes; 25 blocks a slab, 384 bytes over */
    [CLASS_640] = {
        .usable = 640, .stride = 640, .first = 0, .blocks = 25, .reciprocal = 6871947674,
        .capacity = 25, .list_capacity = 0, .refill = 6, .flush = 12, .spill = 0, .promote = 0,
        .slot = SLOT_640, .stack = 25, .transfer = 0, .transfer_slot = 0, .drain = stack_drain,
    },
    /* 768: requests of 641 to 768 bytes; 21 blocks a slab, 256 bytes over */
    [CLASS_768] = {
        .usable = 768, .stride = 768, .first = 0, .blocks = 21, .reciprocal = 5726623062,
        .capacity = 21, .list_capacity = 0, .refill = 5, .flush = 10, .spill = 0, .promote = 0,
        .slot = SLOT_768, .stack = 21, .transfer = 0, .transfer_slot = 0, .drain = stack_drain,
    },
    /* 896: requests of 769 to 896 bytes; 18 blocks a slab, 256 bytes over */
    [CLASS_896] = {
        .usable = 896, .stride = 896, .first = 0, .blocks = 18, .reciprocal = 4908534053,
        .capacity = 18, .list_capacity = 0, .refill = 4, .flush = 9, .spill = 0, .promote = 0,
        .slot = SLOT_896, .stack = 18, .transfer = 0, .transfer_slot = 0, .drain = stack_drain,
    },
    /* 1024: requests of 897 to 1024 bytes; 16 blocks a slab, 0 bytes over */
    [CLASS_1024] = {
        .usable = 1024, .stride = 1024, .first = 0, .blocks = 16, .reciprocal = 4294967297,
        .capacity = 16, .list_capacity = 0, .refill = 4, .flush = 8, .spill = 0, .promote = 0,
        .slot = SLOT_1024, .stack = 16, .transfer = 0, .transfer_slot = 0, .drain = stack_drain,
    },
    /* 1280: requests of 1025 to 1280 bytes; 12 blocks a slab, 1024 bytes over */
    [CLASS_1280] = {
        .usable = 1280, .stride = 1280, .first = 0, .blocks = 12, .reciprocal = 3435973837,
        .capacity = 12, .list_capacity = 0, .refill = 3, .flush = 6, .spill = 0, .promote = 0,
        .slot = SLOT_1280, .stack = 12, .transfer = 0, .transfer_slot = 0, .drain = stack_drain,
    },
    /* 1536: requests of 1281 to 1536 bytes; 10 blocks a slab, 1024 bytes over */
    [CLASS_1536] = {
        .usable = 1536, .stride = 1536, .first = 0, .blocks = 10, .reciprocal = 2863311531,
        .capacity = 10, .list_capacity = 0, .refill = 2, .flush = 5, .spill = 0, .promote = 0,
        .slot = SLOT_1536, .stack = 10, .transfer = 0, .transfer_slot = 0, .drain = stack_drain,
    },
    /* 1792: requests of 1537 to 1792 bytes; 9 blocks a slab, 256 bytes over */
    [CLASS_1792] = {
        .usable = 1792, .stride = 1792, .first = 0, .blocks = 9, .reciprocal = 2454267027,
        .capacity = 9, .list_capacity = 0, .refill = 2, .flush = 4, .spill = 0, .promote = 0,
        .slot = SLOT_1792, .stack = 9, .transfer = 0, .transfer_slot = 0, .drain = stack_drain,
    },
    /* 2048: requests of 1793 to 2048 bytes; 8 blocks a slab, 0 bytes over */
    [CLASS_2048] = {
        .usable = 2048, .stride = 2048, .first = 0, .blocks = 8, .reciprocal = 2147483649,
        .capacity = 8, .list_capacity = 0, .refill = 2, .flush = 4, .spill = 0, .promote = 0,
        .slot = SLOT_2048, .stack = 8, .transfer = 0, .transfer_slot = 0, .drain = stack_drain,
    },
    /* 2720: requests of 2049 to 2720 bytes; 6 blocks a slab, 64 bytes over */
    [CLASS_2720] = {
        .usable = 2720, .stride = 2720, .first = 0, .blocks = 6, .reciprocal = 1616928865,
        .capacity = 6, .list_capacity = 0, .refill = 1, .flush = 3, .spill = 0, .promote = 0,
        .slot = SLOT_2720, .stack = 6, .transfer = 0, .transfer_slot = 0, .drain = stack_drain,
    },
    /* 3264: requests of 2721 to 3264 bytes; 5 blocks a slab, 64 bytes over */
    [CLASS_3264] = {
        .usable = 3264, .stride = 3264, .first = 0, .blocks = 5, .reciprocal = 1347440721,
        .capacity = 5, .list_capacity = 0, .refill = 1, .flush = 2, .spill = 0, .promote = 0,
        .slot = SLOT_3264, .stack = 5, .transfer = 0, .transfer_slot = 0, .drain = stack_drain,
    },
    /* 4096: requests of 3265 to 4096 bytes; 4 blocks a slab, 0 bytes over */
    [CLASS_4096] = {
        .usable = 4096, .stride = 4096, .first = 0, .blocks = 4, .reciprocal = 1073741825,
        .capacity = 4, .list_capacity = 0, .refill = 1, .flush = 2, .spill = 0, .promote = 0,
        .slot = SLOT_4096, .stack = 4, .transfer = 0, .transfer_slot = 0, .drain = stack_drain,
    },
    /* 5456: requests of 4097 to 5456 bytes; 3 blocks a slab, 16 bytes over */
    [CLASS_5456] = {
        .usable = 5456, .stride = 5456, .first = 0, .blocks = 3, .reciprocal = 806093569,
        .capacity = 3, .list_capacity = 0, .refill = 1, .flush = 1, .spill = 0, .promote = 0,
        .slot = SLOT_5456, .stack = 3, .transfer = 0, .transfer_slot = 0, .drain = stack_drain,
    },
    /* 8192: requests of 5457 to 8192 bytes; 2 blocks a slab, 0 bytes over */
    [CLASS_8192] = {
        .usable = 8192, .stride = 8192, .first = 0, .blocks = 2, .reciprocal = 536870913,
        .capacity = 2, .list_capacity = 0, .refill = 1, .flush = 1, .spill = 0, .promote = 0,
        .slot = SLOT_8192, .stack = 2, .transfer = 0, .transfer_slot = 0, .drain = stack_drain,
    },
};

/* By (request + SIZE_BIAS + GRAIN - 1) / GRAIN. */
const uint8_t hs_size_class[SIZE_CLASS_COUNT] = {
    0, 0, 1, 2, 3, 4, 5, 6, 7, 8, 8, 9, 9, 10, 10, 11, 11, 12, 12, 12,
    12, 13, 13, 13, 13, 14, 14, 14, 14, 15, 15, 15, 15, 16, 16, 16, 16, 16, 16, 16,
    16, 17, 17, 17, 17, 17, 17, 17, 17, 18, 18, 18, 18, 18, 18, 18, 18, 19, 19, 19,
    19, 19, 19, 19, 19, 20, 20, 20, 20, 20, 20, 20, 20, 20, 20, 20, 20, 20, 20, 20,
    20, 21, 21, 21, 21, 21, 21, 21, 21, 21, 21, 21, 21, 21, 21, 21, 21, 22, 22, 22,
    22, 22, 22, 22, 22, 22, 22, 22, 22, 22, 22, 22, 22, 23, 23, 23, 23, 23, 23, 23,
    23, 23, 23, 23, 23, 23, 23, 23, 23, 24, 24, 24, 24, 24, 24, 24, 24, 24, 24, 24,
    24, 24, 24, 24, 24, 24, 24, 24, 24, 24, 24, 24, 24, 24, 24, 24, 24, 24, 24, 24,
    24, 24, 24, 24, 24, 24, 24, 24, 24, 24, 24, 25, 25, 25, 25, 25, 25, 25, 25, 25,
    25, 25, 25, 25, 25, 25, 25, 25, 25, 25, 25, 25, 25, 25, 25, 25, 25, 25, 25, 25,
    25, 25, 25, 25, 25, 26, 26, 26, 26, 26, 26, 26, 26, 26, 26, 26, 26, 26, 26, 26,
    26, 26, 26, 26, 26, 26, 26, 26, 26, 26, 26, 26, 26, 26, 26, 26, 26, 26, 26, 26,
    26, 26, 26, 26, 26, 26, 26, 26, 26, 26, 26, 26, 26, 26, 26, 26, 26, 27, 27, 27,
    27, 27, 27, 27, 27, 27, 27, 27, 27, 27, 27, 27, 27, 27, 27, 27, 27, 27, 27, 27,
    27, 27, 27, 27, 27, 27, 27, 27, 27, 27, 27, 27, 27, 27, 27, 27, 27, 27, 27, 27,
    27, 27, 27, 27, 27, 27, 27, 27, 27, 27, 27, 27, 27, 27, 27, 27, 27, 27, 27, 27,
    27, 27, 27, 27, 27, 27, 27, 27, 27, 27, 27, 27, 27, 27, 27, 27, 27, 27, 27, 27,
    27, 27, 28, 28, 28, 28, 28, 28, 28, 28, 28, 28, 28, 28, 28, 28, 28, 28, 28, 28,
    28, 28, 28, 28, 28, 28, 28, 28, 28, 28, 28, 28, 28, 28, 28, 28, 28, 28, 28, 28,
    28, 28, 28, 28, 28, 28, 28, 28, 28, 28, 28, 28, 28, 28, 28, 28, 28, 28, 28, 28,
    28, 28, 28, 28, 28, 28, 28, 28, 28, 28, 28, 28, 28, 28, 28, 28, 28, 28, 28, 28,
    28, 28, 28, 28, 28, 28, 28, 28, 28, 28, 28, 28, 28, 28, 28, 28, 28, 28, 28, 28,
    28, 28, 28, 28, 28, 28, 28, 28, 28, 28, 28, 28, 28, 28, 28, 28, 28, 28, 28, 28,
    28, 28, 28, 28, 28, 28, 28, 28, 28, 28, 28, 28, 28, 28, 28, 28, 28, 28, 28, 28,
    28, 28, 28, 28, 28, 28, 28, 28, 28, 28, 28, 28, 28, 28, 28, 28, 28, 28, 28, 28,
    28, 28, 28, 28, 28, 28, 28, 28, 28, 28, 28, 28, 28,
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
        [1 + CLASS_160] = nothing + 1,
        [1 + CLASS_192] = nothing + 1,
        [1 + CLASS_224] = nothing + 1,
        [1 + CLASS_256] = nothing + 1,
        [1 + CLASS_320] = nothing + 1,
        [1 + CLASS_384] = nothing + 1,
        [1 + CLASS_448] = nothing + 1,
        [1 + CLASS_512] = nothing + 1,
        [1 + CLASS_640] = nothing + 1,
        [1 + CLASS_768] = nothing + 1,
        [1 + CLASS_896] = nothing + 1,
        [1 + CLASS_1024] = nothing + 1,
        [1 + CLASS_1280] = nothing + 1,
        [1 + CLASS_1536] = nothing + 1,
        [1 + CLASS_1792] = nothing + 1,
        [1 + CLASS_2048] = nothing + 1,
        [1 + CLASS_2720] = nothing + 1,
        [1 + CLASS_3264] = nothing + 1,
        [1 + CLASS_4096] = nothing + 1,
        [1 + CLASS_5456] = nothing + 1,
        [1 + CLASS_8192] = nothing + 1,
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
        [1 + CLASS_160] = nothing + 1,
        [1 + CLASS_192] = nothing + 1,
        [1 + CLASS_224] = nothing + 1,
        [1 + CLASS_256] = nothing + 1,
        [1 + CLASS_320] = nothing + 1,
        [1 + CLASS_384] = nothing + 1,
        [1 + CLASS_448] = nothing + 1,
        [1 + CLASS_512] = nothing + 1,
        [1 + CLASS_640] = nothing + 1,
        [1 + CLASS_768] = nothing + 1,
        [1 + CLASS_896] = nothing + 1,
        [1 + CLASS_1024] = nothing + 1,
        [1 + CLASS_1280] = nothing + 1,
        [1 + CLASS_1536] = nothing + 1,
        [1 + CLASS_1792] = nothing + 1,
        [1 + CLASS_2048] = nothing + 1,
        [1 + CLASS_2720] = nothing + 1,
        [1 + CLASS_3264] = nothing + 1,
        [1 + CLASS_4096] = nothing + 1,
        [1 + CLASS_5456] = nothing + 1,
        [1 + CLASS_8192] = nothing + 1,
    },
    .front = {
        [CLASS_16] = { .held = 64 + 1 },
        [CLASS_32] = { .held = 64 + 1 },
        [CLASS_48] = { .held = 64 + 1 },
        [CLASS_64] = { .held = 64 + 1 },
        [CLASS_80] = { .held = 64 + 1 },
        [CLASS_96] = { .held = 64 + 1 },
        [CLASS_112] = { .held = 64 + 1 },
        [CLASS_128] = { .held = 64 + 1 },
        [CLASS_160] = { .held = 64 + 1 },
        [CLASS_192] = { .held = 64 + 1 },
        [CLASS_224] = { .held = 64 + 1 },
        [CLASS_256] = { .held = 64 + 1 },
        [CLASS_320] = { .held = 51 + 1 },
        [CLASS_384] = { .held = 42 + 1 },
        [CLASS_448] = { .held = 36 + 1 },
        [CLASS_512] = { .held = 32 + 1 },
        [CLASS_640] = { .held = 25 + 1 },
        [CLASS_768] = { .held = 21 + 1 },
        [CLASS_896] = { .held = 18 + 1 },
        [CLASS_1024] = { .held = 16 + 1 },
        [CLASS_1280] = { .held = 12 + 1 },
        [CLASS_1536] = { .held = 10 + 1 },
        [CLASS_1792] = { .held = 9 + 1 },
        [CLASS_2048] = { .held = 8 + 1 },
        [CLASS_2720] = { .held = 6 + 1 },
        [CLASS_3264] = { .held = 5 + 1 },
        [CLASS_4096] = { .held = 4 + 1 },
        [CLASS_5456] = { .held = 3 + 1 },
        [CLASS_8192] = { .held = 2 + 1 },
    },
};

__thread struct heap *hs_self = &hs_no_heap;

/* hs_self for what heapsmith.h inlines, under a name that no library of another header has. In the checked build always
 * the heap of no thread: so each call comes here, is counted and is checked. */
static __thread struct heap *inlined = &hs_no_heap;
extern __thread struct heap *hs_heap_dc44d90fd7fa_231a80 __attribute__((alias("inlined"), visibility("default")));

void hs_become(struct heap *heap)
{
    hs_self = heap;
    inlined = HEAPSMITH_CHECKED ? &hs_no_heap : heap;
}
