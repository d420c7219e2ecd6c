/* The tables of this heap: size classes, size to class, and the heap of a thread that has none.
 *
 * Emitted by heapsmith 0.1.0 from design "default", content hash e72def72db02.
 * Do not edit: change the design, then run: heapsmith generate default -o DIR
 */
#include "8_threads/front/array_stack.h"
#include "7_large/run_pages.h"
#include "3_records/span.h"

/* What the hit paths and the tables count on. */
_Static_assert(CLASS_32768 + 1 == CLASS_COUNT, "classes are numbered from 0 without a gap");
_Static_assert(SLOT_32768 + 8 + 0 == SLOT_COUNT, "a heap has slots for every class");
_Static_assert((SMALL_LIMIT + SIZE_BIAS + GRAIN - 1) / GRAIN + 1 == SIZE_CLASS_COUNT, "every small size has a class");
_Static_assert((uint64_t)SPAN_SLABS << SLAB_SHIFT == SLAB_SPAN_BYTES, "a slab's number is its offset's upper bits");
_Static_assert((uint64_t)REGIONS * REGION_BYTES == SLAB_SPAN_BYTES, "the regions are the span");
_Static_assert(SLAB_CLASSES_BYTES == 0 || SLAB_CLASSES_BYTES >= SPAN_SLABS, "every slab has a byte of the class map");
_Static_assert(BITMAP_WORDS * 64 >= 4096, "a mark for every block of a slab");

/* Where the model says that these lie (model/memory/layout.py), to know the cache lines that each path touches. */
_Static_assert(offsetof(struct heap, end) == 384, "heap.end");
_Static_assert(offsetof(struct heap, row_of) == 784, "heap.row_of");
_Static_assert(offsetof(struct heap, front) == 1816, "heap.front");
_Static_assert(offsetof(struct heap, remote) == 2224, "heap.remote");
_Static_assert(offsetof(struct heap, store) == 2248, "heap.store");
_Static_assert(offsetof(struct heap, count) == 2264, "heap.count");
_Static_assert(offsetof(struct heap, caches) == 9032, "heap.caches");
_Static_assert(offsetof(struct heap, quarantine) == 9184, "heap.quarantine");
_Static_assert(offsetof(struct heap, slot) == 9200, "heap.slot");
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

const char hs_design[] = "default e72def72db02";

const struct class_plan hs_class[CLASS_COUNT] = {
    /* 16: requests of 0 to 16 bytes; 4096 blocks a slab, 0 bytes over */
    [CLASS_16] = {
        .usable = 16, .stride = 16, .first = 0, .blocks = 4096, .reciprocal = 274877906945,
        .capacity = 128, .list_capacity = 0, .refill = 64, .flush = 64, .spill = 0, .promote = 0,
        .slot = SLOT_16, .stack = 128, .transfer = 8, .transfer_slot = 0, .drain = 1,
    },
    /* 32: requests of 17 to 32 bytes; 2048 blocks a slab, 0 bytes over */
    [CLASS_32] = {
        .usable = 32, .stride = 32, .first = 0, .blocks = 2048, .reciprocal = 137438953473,
        .capacity = 128, .list_capacity = 0, .refill = 64, .flush = 64, .spill = 0, .promote = 0,
        .slot = SLOT_32, .stack = 128, .transfer = 8, .transfer_slot = 512, .drain = 1,
    },
    /* 48: requests of 33 to 48 bytes; 1365 blocks a slab, 16 bytes over */
    [CLASS_48] = {
        .usable = 48, .stride = 48, .first = 0, .blocks = 1365, .reciprocal = 91625968982,
        .capacity = 128, .list_capacity = 0, .refill = 64, .flush = 64, .spill = 0, .promote = 0,
        .slot = SLOT_48, .stack = 128, .transfer = 8, .transfer_slot = 1024, .drain = 1,
    },
    /* 64: requests of 49 to 64 bytes; 1024 blocks a slab, 0 bytes over */
    [CLASS_64] = {
        .usable = 64, .stride = 64, .first = 0, .blocks = 1024, .reciprocal = 68719476737,
        .capacity = 128, .list_capacity = 0, .refill = 64, .flush = 64, .spill = 0, .promote = 0,
        .slot = SLOT_64, .stack = 128, .transfer = 8, .transfer_slot = 1536, .drain = 1,
    },
    /* 80: requests of 65 to 80 bytes; 819 blocks a slab, 16 bytes over */
    [CLASS_80] = {
        .usable = 80, .stride = 80, .first = 0, .blocks = 819, .reciprocal = 54975581389,
        .capacity = 128, .list_capacity = 0, .refill = 51, .flush = 64, .spill = 0, .promote = 0,
        .slot = SLOT_80, .stack = 128, .transfer = 8, .transfer_slot = 2048, .drain = 1,
    },
    /* 96: requests of 81 to 96 bytes; 682 blocks a slab, 64 bytes over */
    [CLASS_96] = {
        .usable = 96, .stride = 96, .first = 0, .blocks = 682, .reciprocal = 45812984491,
        .capacity = 128, .list_capacity = 0, .refill = 42, .flush = 64, .spill = 0, .promote = 0,
        .slot = SLOT_96, .stack = 128, .transfer = 8, .transfer_slot = 2560, .drain = 1,
    },
    /* 112: requests of 97 to 112 bytes; 585 blocks a slab, 16 bytes over */
    [CLASS_112] = {
        .usable = 112, .stride = 112, .first = 0, .blocks = 585, .reciprocal = 39268272421,
        .capacity = 128, .list_capacity = 0, .refill = 36, .flush = 64, .spill = 0, .promote = 0,
        .slot = SLOT_112, .stack = 128, .transfer = 8, .transfer_slot = 3072, .drain = 1,
    },
    /* 128: requests of 113 to 128 bytes; 512 blocks a slab, 0 bytes over */
    [CLASS_128] = {
        .usable = 128, .stride = 128, .first = 0, .blocks = 512, .reciprocal = 34359738369,
        .capacity = 128, .list_capacity = 0, .refill = 32, .flush = 64, .spill = 0, .promote = 0,
        .slot = SLOT_128, .stack = 128, .transfer = 8, .transfer_slot = 3584, .drain = 1,
    },
    /* 144: requests of 129 to 144 bytes; 455 blocks a slab, 16 bytes over */
    [CLASS_144] = {
        .usable = 144, .stride = 144, .first = 0, .blocks = 455, .reciprocal = 30541989661,
        .capacity = 128, .list_capacity = 0, .refill = 28, .flush = 64, .spill = 0, .promote = 0,
        .slot = SLOT_144, .stack = 128, .transfer = 8, .transfer_slot = 4096, .drain = 1,
    },
    /* 160: requests of 145 to 160 bytes; 409 blocks a slab, 96 bytes over */
    [CLASS_160] = {
        .usable = 160, .stride = 160, .first = 0, .blocks = 409, .reciprocal = 27487790695,
        .capacity = 128, .list_capacity = 0, .refill = 25, .flush = 64, .spill = 0, .promote = 0,
        .slot = SLOT_160, .stack = 128, .transfer = 8, .transfer_slot = 4608, .drain = 1,
    },
    /* 176: requests of 161 to 176 bytes; 372 blocks a slab, 64 bytes over */
    [CLASS_176] = {
        .usable = 176, .stride = 176, .first = 0, .blocks = 372, .reciprocal = 24988900632,
        .capacity = 128, .list_capacity = 0, .refill = 23, .flush = 64, .spill = 0, .promote = 0,
        .slot = SLOT_176, .stack = 128, .transfer = 8, .transfer_slot = 5120, .drain = 1,
    },
    /* 192: requests of 177 to 192 bytes; 341 blocks a slab, 64 bytes over */
    [CLASS_192] = {
        .usable = 192, .stride = 192, .first = 0, .blocks = 341, .reciprocal = 22906492246,
        .capacity = 128, .list_capacity = 0, .refill = 21, .flush = 64, .spill = 0, .promote = 0,
        .slot = SLOT_192, .stack = 128, .transfer = 8, .transfer_slot = 5632, .drain = 1,
    },
    /* 208: requests of 193 to 208 bytes; 315 blocks a slab, 16 bytes over */
    [CLASS_208] = {
        .usable = 208, .stride = 208, .first = 0, .blocks = 315, .reciprocal = 21144454381,
        .capacity = 128, .list_capacity = 0, .refill = 19, .flush = 64, .spill = 0, .promote = 0,
        .slot = SLOT_208, .stack = 128, .transfer = 8, .transfer_slot = 6144, .drain = 1,
    },
    /* 224: requests of 209 to 224 bytes; 292 blocks a slab, 128 bytes over */
    [CLASS_224] = {
        .usable = 224, .stride = 224, .first = 0, .blocks = 292, .reciprocal = 19634136211,
        .capacity = 128, .list_capacity = 0, .refill = 18, .flush = 64, .spill = 0, .promote = 0,
        .slot = SLOT_224, .stack = 128, .transfer = 8, .transfer_slot = 6656, .drain = 1,
    },
    /* 240: requests of 225 to 240 bytes; 273 blocks a slab, 16 bytes over */
    [CLASS_240] = {
        .usable = 240, .stride = 240, .first = 0, .blocks = 273, .reciprocal = 18325193797,
        .capacity = 128, .list_capacity = 0, .refill = 17, .flush = 64, .spill = 0, .promote = 0,
        .slot = SLOT_240, .stack = 128, .transfer = 8, .transfer_slot = 7168, .drain = 1,
    },
    /* 256: requests of 241 to 256 bytes; 256 blocks a slab, 0 bytes over */
    [CLASS_256] = {
        .usable = 256, .stride = 256, .first = 0, .blocks = 256, .reciprocal = 17179869185,
        .capacity = 128, .list_capacity = 0, .refill = 16, .flush = 64, .spill = 0, .promote = 0,
        .slot = SLOT_256, .stack = 128, .transfer = 8, .transfer_slot = 7680, .drain = 1,
    },
    /* 288: requests of 257 to 288 bytes; 227 blocks a slab, 160 bytes over */
    [CLASS_288] = {
        .usable = 288, .stride = 288, .first = 0, .blocks = 227, .reciprocal = 15270994831,
        .capacity = 128, .list_capacity = 0, .refill = 14, .flush = 64, .spill = 0, .promote = 0,
        .slot = SLOT_288, .stack = 128, .transfer = 8, .transfer_slot = 8192, .drain = 1,
    },
    /* 320: requests of 289 to 320 bytes; 204 blocks a slab, 256 bytes over */
    [CLASS_320] = {
        .usable = 320, .stride = 320, .first = 0, .blocks = 204, .reciprocal = 13743895348,
        .capacity = 128, .list_capacity = 0, .refill = 12, .flush = 64, .spill = 0, .promote = 0,
        .slot = SLOT_320, .stack = 128, .transfer = 8, .transfer_slot = 8704, .drain = 1,
    },
    /* 352: requests of 321 to 352 bytes; 186 blocks a slab, 64 bytes over */
    [CLASS_352] = {
        .usable = 352, .stride = 352, .first = 0, .blocks = 186, .reciprocal = 12494450316,
        .capacity = 128, .list_capacity = 0, .refill = 11, .flush = 64, .spill = 0, .promote = 0,
        .slot = SLOT_352, .stack = 128, .transfer = 8, .transfer_slot = 9216, .drain = 1,
    },
    /* 384: requests of 353 to 384 bytes; 170 blocks a slab, 256 bytes over */
    [CLASS_384] = {
        .usable = 384, .stride = 384, .first = 0, .blocks = 170, .reciprocal = 11453246123,
        .capacity = 128, .list_capacity = 0, .refill = 10, .flush = 64, .spill = 0, .promote = 0,
        .slot = SLOT_384, .stack = 128, .transfer = 8, .transfer_slot = 9728, .drain = 1,
    },
    /* 416: requests of 385 to 416 bytes; 157 blocks a slab, 224 bytes over */
    [CLASS_416] = {
        .usable = 416, .stride = 416, .first = 0, .blocks = 157, .reciprocal = 10572227191,
        .capacity = 128, .list_capacity = 0, .refill = 9, .flush = 64, .spill = 0, .promote = 0,
        .slot = SLOT_416, .stack = 128, .transfer = 8, .transfer_slot = 10240, .drain = 1,
    },
    /* 448: requests of 417 to 448 bytes; 146 blocks a slab, 128 bytes over */
    [CLASS_448] = {
        .usable = 448, .stride = 448, .first = 0, .blocks = 146, .reciprocal = 9817068106,
        .capacity = 128, .list_capacity = 0, .refill = 9, .flush = 64, .spill = 0, .promote = 0,
        .slot = SLOT_448, .stack = 128, .transfer = 8, .transfer_slot = 10752, .drain = 1,
    },
    /* 480: requests of 449 to 480 bytes; 136 blocks a slab, 256 bytes over */
    [CLASS_480] = {
        .usable = 480, .stride = 480, .first = 0, .blocks = 136, .reciprocal = 9162596899,
        .capacity = 128, .list_capacity = 0, .refill = 8, .flush = 64, .spill = 0, .promote = 0,
        .slot = SLOT_480, .stack = 128, .transfer = 8, .transfer_slot = 11264, .drain = 1,
    },
    /* 512: requests of 481 to 512 bytes; 128 blocks a slab, 0 bytes over */
    [CLASS_512] = {
        .usable = 512, .stride = 512, .first = 0, .blocks = 128, .reciprocal = 8589934593,
        .capacity = 128, .list_capacity = 0, .refill = 8, .flush = 64, .spill = 0, .promote = 0,
        .slot = SLOT_512, .stack = 128, .transfer = 8, .transfer_slot = 11776, .drain = 1,
    },
    /* 640: requests of 513 to 640 bytes; 102 blocks a slab, 256 bytes over */
    [CLASS_640] = {
        .usable = 640, .stride = 640, .first = 0, .blocks = 102, .reciprocal = 6871947674,
        .capacity = 128, .list_capacity = 0, .refill = 6, .flush = 64, .spill = 0, .promote = 0,
        .slot = SLOT_640, .stack = 128, .transfer = 8, .transfer_slot = 12288, .drain = 1,
    },
    /* 768: requests of 641 to 768 bytes; 85 blocks a slab, 256 bytes over */
    [CLASS_768] = {
        .usable = 768, .stride = 768, .first = 0, .blocks = 85, .reciprocal = 5726623062,
        .capacity = 128, .list_capacity = 0, .refill = 5, .flush = 64, .spill = 0, .promote = 0,
        .slot = SLOT_768, .stack = 128, .transfer = 8, .transfer_slot = 12800, .drain = 1,
    },
    /* 896: requests of 769 to 896 bytes; 73 blocks a slab, 128 bytes over */
    [CLASS_896] = {
        .usable = 896, .stride = 896, .first = 0, .blocks = 73, .reciprocal = 4908534053,
        .capacity = 128, .list_capacity = 0, .refill = 4, .flush = 64, .spill = 0, .promote = 0,
        .slot = SLOT_896, .stack = 128, .transfer = 8, .transfer_slot = 13312, .drain = 1,
    },
    /* 1040: requests of 897 to 1040 bytes; 63 blocks a slab, 16 bytes over */
    [CLASS_1040] = {
        .usable = 1040, .stride = 1040, .first = 0, .blocks = 63, .reciprocal = 4228890877,
        .capacity = 128, .list_capacity = 0, .refill = 3, .flush = 64, .spill = 0, .promote = 0,
        .slot = SLOT_1040, .stack = 128, .transfer = 8, .transfer_slot = 13824, .drain = 1,
    },
    /* 1152: requests of 1041 to 1152 bytes; 56 blocks a slab, 1024 bytes over */
    [CLASS_1152] = {
        .usable = 1152, .stride = 1152, .first = 0, .blocks = 56, .reciprocal = 3817748708,
        .capacity = 128, .list_capacity = 0, .refill = 3, .flush = 64, .spill = 0, .promote = 0,
        .slot = SLOT_1152, .stack = 128, .transfer = 8, .transfer_slot = 14336, .drain = 1,
    },
    /* 1344: requests of 1153 to 1344 bytes; 48 blocks a slab, 1024 bytes over */
    [CLASS_1344] = {
        .usable = 1344, .stride = 1344, .first = 0, .blocks = 48, .reciprocal = 3272356036,
        .capacity = 128, .list_capacity = 0, .refill = 3, .flush = 64, .spill = 0, .promote = 0,
        .slot = SLOT_1344, .stack = 128, .transfer = 8, .transfer_slot = 14848, .drain = 1,
    },
    /* 1600: requests of 1345 to 1600 bytes; 40 blocks a slab, 1536 bytes over */
    [CLASS_1600] = {
        .usable = 1600, .stride = 1600, .first = 0, .blocks = 40, .reciprocal = 2748779070,
        .capacity = 128, .list_capacity = 0, .refill = 2, .flush = 64, .spill = 0, .promote = 0,
        .slot = SLOT_1600, .stack = 128, .transfer = 8, .transfer_slot = 15360, .drain = 1,
    },
    /* 2048: requests of 1601 to 2048 bytes; 32 blocks a slab, 0 bytes over */
    [CLASS_2048] = {
        .usable = 2048, .stride = 2048, .first = 0, .blocks = 32, .reciprocal = 2147483649,
        .capacity = 128, .list_capacity = 0, .refill = 2, .flush = 64, .spill = 0, .promote = 0,
        .slot = SLOT_2048, .stack = 128, .transfer = 8, .transfer_slot = 15872, .drain = 1,
    },
    /* 2304: requests of 2049 to 2304 bytes; 28 blocks a slab, 1024 bytes over */
    [CLASS_2304] = {
        .usable = 2304, .stride = 2304, .first = 0, .blocks = 28, .reciprocal = 1908874354,
        .capacity = 113, .list_capacity = 0, .refill = 1, .flush = 56, .spill = 0, .promote = 0,
        .slot = SLOT_2304, .stack = 113, .transfer = 8, .transfer_slot = 16384, .drain = 1,
    },
    /* 2688: requests of 2305 to 2688 bytes; 24 blocks a slab, 1024 bytes over */
    [CLASS_2688] = {
        .usable = 2688, .stride = 2688, .first = 0, .blocks = 24, .reciprocal = 1636178018,
        .capacity = 97, .list_capacity = 0, .refill = 1, .flush = 48, .spill = 0, .promote = 0,
        .slot = SLOT_2688, .stack = 97, .transfer = 8, .transfer_slot = 16832, .drain = 1,
    },
    /* 3264: requests of 2689 to 3264 bytes; 20 blocks a slab, 256 bytes over */
    [CLASS_3264] = {
        .usable = 3264, .stride = 3264, .first = 0, .blocks = 20, .reciprocal = 1347440721,
        .capacity = 80, .list_capacity = 0, .refill = 1, .flush = 40, .spill = 0, .promote = 0,
        .slot = SLOT_3264, .stack = 80, .transfer = 8, .transfer_slot = 17216, .drain = 1,
    },
    /* 4096: requests of 3265 to 4096 bytes; 16 blocks a slab, 0 bytes over */
    [CLASS_4096] = {
        .usable = 4096, .stride = 4096, .first = 0, .blocks = 16, .reciprocal = 1073741825,
        .capacity = 64, .list_capacity = 0, .refill = 1, .flush = 32, .spill = 0, .promote = 0,
        .slot = SLOT_4096, .stack = 64, .transfer = 8, .transfer_slot = 17536, .drain = 1,
    },
    /* 4368: requests of 4097 to 4368 bytes; 15 blocks a slab, 16 bytes over */
    [CLASS_4368] = {
        .usable = 4368, .stride = 4368, .first = 0, .blocks = 15, .reciprocal = 1006878781,
        .capacity = 60, .list_capacity = 0, .refill = 1, .flush = 30, .spill = 0, .promote = 0,
        .slot = SLOT_4368, .stack = 60, .transfer = 8, .transfer_slot = 17792, .drain = 1,
    },
    /* 4992: requests of 4369 to 4992 bytes; 13 blocks a slab, 640 bytes over */
    [CLASS_4992] = {
        .usable = 4992, .stride = 4992, .first = 0, .blocks = 13, .reciprocal = 881018933,
        .capacity = 52, .list_capacity = 0, .refill = 1, .flush = 26, .spill = 0, .promote = 0,
        .slot = SLOT_4992, .stack = 52, .transfer = 8, .transfer_slot = 18032, .drain = 1,
    },
    /* 5952: requests of 4993 to 5952 bytes; 11 blocks a slab, 64 bytes over */
    [CLASS_5952] = {
        .usable = 5952, .stride = 5952, .first = 0, .blocks = 11, .reciprocal = 738919105,
        .capacity = 44, .list_capacity = 0, .refill = 1, .flush = 22, .spill = 0, .promote = 0,
        .slot = SLOT_5952, .stack = 44, .transfer = 8, .transfer_slot = 18240, .drain = 1,
    },
    /* 7232: requests of 5953 to 7232 bytes; 9 blocks a slab, 448 bytes over */
    [CLASS_7232] = {
        .usable = 7232, .stride = 7232, .first = 0, .blocks = 9, .reciprocal = 608136963,
        .capacity = 36, .list_capacity = 0, .refill = 1, .flush = 18, .spill = 0, .promote = 0,
        .slot = SLOT_7232, .stack = 36, .transfer = 8, .transfer_slot = 18416, .drain = 1,
    },
    /* 8192: requests of 7233 to 8192 bytes; 8 blocks a slab, 0 bytes over */
    [CLASS_8192] = {
        .usable = 8192, .stride = 8192, .first = 0, .blocks = 8, .reciprocal = 536870913,
        .capacity = 32, .list_capacity = 0, .refill = 1, .flush = 16, .spill = 0, .promote = 0,
        .slot = SLOT_8192, .stack = 32, .transfer = 8, .transfer_slot = 18560, .drain = 1,
    },
    /* 10240: requests of 8193 to 10240 bytes; 6 blocks a slab, 4096 bytes over */
    [CLASS_10240] = {
        .usable = 10240, .stride = 10240, .first = 0, .blocks = 6, .reciprocal = 429496730,
        .capacity = 25, .list_capacity = 0, .refill = 1, .flush = 12, .spill = 0, .promote = 0,
        .slot = SLOT_10240, .stack = 25, .transfer = 8, .transfer_slot = 18688, .drain = 1,
    },
    /* 12288: requests of 10241 to 12288 bytes; 5 blocks a slab, 4096 bytes over */
    [CLASS_12288] = {
        .usable = 12288, .stride = 12288, .first = 0, .blocks = 5, .reciprocal = 357913942,
        .capacity = 21, .list_capacity = 0, .refill = 1, .flush = 10, .spill = 0, .promote = 0,
        .slot = SLOT_12288, .stack = 21, .transfer = 8, .transfer_slot = 18784, .drain = 1,
    },
    /* 16384: requests of 12289 to 16384 bytes; 4 blocks a slab, 0 bytes over */
    [CLASS_16384] = {
        .usable = 16384, .stride = 16384, .first = 0, .blocks = 4, .reciprocal = 268435457,
        .capacity = 16, .list_capacity = 0, .refill = 1, .flush = 8, .spill = 0, .promote = 0,
        .slot = SLOT_16384, .stack = 16, .transfer = 8, .transfer_slot = 18864, .drain = 1,
    },
    /* 20480: requests of 16385 to 20480 bytes; 3 blocks a slab, 4096 bytes over */
    [CLASS_20480] = {
        .usable = 20480, .stride = 20480, .first = 0, .blocks = 3, .reciprocal = 214748365,
        .capacity = 12, .list_capacity = 0, .refill = 1, .flush = 6, .spill = 0, .promote = 0,
        .slot = SLOT_20480, .stack = 12, .transfer = 8, .transfer_slot = 18928, .drain = 1,
    },
    /* 24576: requests of 20481 to 24576 bytes; 2 blocks a slab, 16384 bytes over */
    [CLASS_24576] = {
        .usable = 24576, .stride = 24576, .first = 0, .blocks = 2, .reciprocal = 178956971,
        .capacity = 10, .list_capacity = 0, .refill = 1, .flush = 5, .spill = 0, .promote = 0,
        .slot = SLOT_24576, .stack = 10, .transfer = 8, .transfer_slot = 18976, .drain = 1,
    },
    /* 32768: requests of 24577 to 32768 bytes; 2 blocks a slab, 0 bytes over */
    [CLASS_32768] = {
        .usable = 32768, .stride = 32768, .first = 0, .blocks = 2, .reciprocal = 134217729,
        .capacity = 8, .list_capacity = 0, .refill = 1, .flush = 4, .spill = 0, .promote = 0,
        .slot = SLOT_32768, .stack = 8, .transfer = 8, .transfer_slot = 19016, .drain = 1,
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

const uint32_t hs_opens_after[CLASS_COUNT] = {
    2, 2, 2, 2, 2, 2, 2, 2, 2, 2,
    2, 2, 2, 2, 2, 2, 2, 2, 2, 2,
    2, 2, 2, 2, 2, 2, 2, 2, 2, 2,
    2, 2, 2, 2, 2, 2, 2, 2, 2, 2,
    2, 2, 2, 2, 2, 2, 2,
};

/* By (request + SIZE_BIAS + GRAIN - 1) / GRAIN. */
const uint8_t hs_size_class[SIZE_CLASS_COUNT] = {
    0, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 16, 17,
    17, 18, 18, 19, 19, 20, 20, 21, 21, 22, 22, 23, 23, 24, 24, 24, 24, 24, 24, 24,
    24, 25, 25, 25, 25, 25, 25, 25, 25, 26, 26, 26, 26, 26, 26, 26, 26, 27, 27, 27,
    27, 27, 27, 27, 27, 27, 28, 28, 28, 28, 28, 28, 28, 29, 29, 29, 29, 29, 29, 29,
    29, 29, 29, 29, 29, 30, 30, 30, 30, 30, 30, 30, 30, 30, 30, 30, 30, 30, 30, 30,
    30, 31, 31, 31, 31, 31, 31, 31, 31, 31, 31, 31, 31, 31, 31, 31, 31, 31, 31, 31,
    31, 31, 31, 31, 31, 31, 31, 31, 31, 32, 32, 32, 32, 32, 32, 32, 32, 32, 32, 32,
    32, 32, 32, 32, 32, 33, 33, 33, 33, 33, 33, 33, 33, 33, 33, 33, 33, 33, 33, 33,
    33, 33, 33, 33, 33, 33, 33, 33, 33, 34, 34, 34, 34, 34, 34, 34, 34, 34, 34, 34,
    34, 34, 34, 34, 34, 34, 34, 34, 34, 34, 34, 34, 34, 34, 34, 34, 34, 34, 34, 34,
    34, 34, 34, 34, 34, 35, 35, 35, 35, 35, 35, 35, 35, 35, 35, 35, 35, 35, 35, 35,
    35, 35, 35, 35, 35, 35, 35, 35, 35, 35, 35, 35, 35, 35, 35, 35, 35, 35, 35, 35,
    35, 35, 35, 35, 35, 35, 35, 35, 35, 35, 35, 35, 35, 35, 35, 35, 35, 36, 36, 36,
    36, 36, 36, 36, 36, 36, 36, 36, 36, 36, 36, 36, 36, 36, 37, 37, 37, 37, 37, 37,
    37, 37, 37, 37, 37, 37, 37, 37, 37, 37, 37, 37, 37, 37, 37, 37, 37, 37, 37, 37,
    37, 37, 37, 37, 37, 37, 37, 37, 37, 37, 37, 37, 37, 38, 38, 38, 38, 38, 38, 38,
    38, 38, 38, 38, 38, 38, 38, 38, 38, 38, 38, 38, 38, 38, 38, 38, 38, 38, 38, 38,
    38, 38, 38, 38, 38, 38, 38, 38, 38, 38, 38, 38, 38, 38, 38, 38, 38, 38, 38, 38,
    38, 38, 38, 38, 38, 38, 38, 38, 38, 38, 38, 38, 38, 39, 39, 39, 39, 39, 39, 39,
    39, 39, 39, 39, 39, 39, 39, 39, 39, 39, 39, 39, 39, 39, 39, 39, 39, 39, 39, 39,
    39, 39, 39, 39, 39, 39, 39, 39, 39, 39, 39, 39, 39, 39, 39, 39, 39, 39, 39, 39,
    39, 39, 39, 39, 39, 39, 39, 39, 39, 39, 39, 39, 39, 39, 39, 39, 39, 39, 39, 39,
    39, 39, 39, 39, 39, 39, 39, 39, 39, 39, 39, 39, 39, 40, 40, 40, 40, 40, 40, 40,
    40, 40, 40, 40, 40, 40, 40, 40, 40, 40, 40, 40, 40, 40, 40, 40, 40, 40, 40, 40,
    40, 40, 40, 40, 40, 40, 40, 40, 40, 40, 40, 40, 40, 40, 40, 40, 40, 40, 40, 40,
    40, 40, 40, 40, 40, 40, 40, 40, 40, 40, 40, 40, 40, 41, 41, 41, 41, 41, 41, 41,
    41, 41, 41, 41, 41, 41, 41, 41, 41, 41, 41, 41, 41, 41, 41, 41, 41, 41, 41, 41,
    41, 41, 41, 41, 41, 41, 41, 41, 41, 41, 41, 41, 41, 41, 41, 41, 41, 41, 41, 41,
    41, 41, 41, 41, 41, 41, 41, 41, 41, 41, 41, 41, 41, 41, 41, 41, 41, 41, 41, 41,
    41, 41, 41, 41, 41, 41, 41, 41, 41, 41, 41, 41, 41, 41, 41, 41, 41, 41, 41, 41,
    41, 41, 41, 41, 41, 41, 41, 41, 41, 41, 41, 41, 41, 41, 41, 41, 41, 41, 41, 41,
    41, 41, 41, 41, 41, 41, 41, 41, 41, 41, 41, 41, 41, 41, 41, 41, 41, 41, 41, 41,
    41, 42, 42, 42, 42, 42, 42, 42, 42, 42, 42, 42, 42, 42, 42, 42, 42, 42, 42, 42,
    42, 42, 42, 42, 42, 42, 42, 42, 42, 42, 42, 42, 42, 42, 42, 42, 42, 42, 42, 42,
    42, 42, 42, 42, 42, 42, 42, 42, 42, 42, 42, 42, 42, 42, 42, 42, 42, 42, 42, 42,
    42, 42, 42, 42, 42, 42, 42, 42, 42, 42, 42, 42, 42, 42, 42, 42, 42, 42, 42, 42,
    42, 42, 42, 42, 42, 42, 42, 42, 42, 42, 42, 42, 42, 42, 42, 42, 42, 42, 42, 42,
    42, 42, 42, 42, 42, 42, 42, 42, 42, 42, 42, 42, 42, 42, 42, 42, 42, 42, 42, 42,
    42, 42, 42, 42, 42, 42, 42, 42, 42, 43, 43, 43, 43, 43, 43, 43, 43, 43, 43, 43,
    43, 43, 43, 43, 43, 43, 43, 43, 43, 43, 43, 43, 43, 43, 43, 43, 43, 43, 43, 43,
    43, 43, 43, 43, 43, 43, 43, 43, 43, 43, 43, 43, 43, 43, 43, 43, 43, 43, 43, 43,
    43, 43, 43, 43, 43, 43, 43, 43, 43, 43, 43, 43, 43, 43, 43, 43, 43, 43, 43, 43,
    43, 43, 43, 43, 43, 43, 43, 43, 43, 43, 43, 43, 43, 43, 43, 43, 43, 43, 43, 43,
    43, 43, 43, 43, 43, 43, 43, 43, 43, 43, 43, 43, 43, 43, 43, 43, 43, 43, 43, 43,
    43, 43, 43, 43, 43, 43, 43, 43, 43, 43, 43, 43, 43, 43, 43, 43, 43, 43, 43, 43,
    43, 43, 43, 43, 43, 43, 43, 43, 43, 43, 43, 43, 43, 43, 43, 43, 43, 43, 43, 43,
    43, 43, 43, 43, 43, 43, 43, 43, 43, 43, 43, 43, 43, 43, 43, 43, 43, 43, 43, 43,
    43, 43, 43, 43, 43, 43, 43, 43, 43, 43, 43, 43, 43, 43, 43, 43, 43, 43, 43, 43,
    43, 43, 43, 43, 43, 43, 43, 43, 43, 43, 43, 43, 43, 43, 43, 43, 43, 43, 43, 43,
    43, 43, 43, 43, 43, 43, 43, 43, 43, 43, 43, 43, 43, 43, 43, 43, 43, 43, 43, 43,
    43, 43, 43, 43, 43, 43, 43, 43, 43, 43, 43, 43, 43, 43, 43, 43, 43, 43, 43, 43,
    43, 43, 43, 43, 43, 44, 44, 44, 44, 44, 44, 44, 44, 44, 44, 44, 44, 44, 44, 44,
    44, 44, 44, 44, 44, 44, 44, 44, 44, 44, 44, 44, 44, 44, 44, 44, 44, 44, 44, 44,
    44, 44, 44, 44, 44, 44, 44, 44, 44, 44, 44, 44, 44, 44, 44, 44, 44, 44, 44, 44,
    44, 44, 44, 44, 44, 44, 44, 44, 44, 44, 44, 44, 44, 44, 44, 44, 44, 44, 44, 44,
    44, 44, 44, 44, 44, 44, 44, 44, 44, 44, 44, 44, 44, 44, 44, 44, 44, 44, 44, 44,
    44, 44, 44, 44, 44, 44, 44, 44, 44, 44, 44, 44, 44, 44, 44, 44, 44, 44, 44, 44,
    44, 44, 44, 44, 44, 44, 44, 44, 44, 44, 44, 44, 44, 44, 44, 44, 44, 44, 44, 44,
    44, 44, 44, 44, 44, 44, 44, 44, 44, 44, 44, 44, 44, 44, 44, 44, 44, 44, 44, 44,
    44, 44, 44, 44, 44, 44, 44, 44, 44, 44, 44, 44, 44, 44, 44, 44, 44, 44, 44, 44,
    44, 44, 44, 44, 44, 44, 44, 44, 44, 44, 44, 44, 44, 44, 44, 44, 44, 44, 44, 44,
    44, 44, 44, 44, 44, 44, 44, 44, 44, 44, 44, 44, 44, 44, 44, 44, 44, 44, 44, 44,
    44, 44, 44, 44, 44, 44, 44, 44, 44, 44, 44, 44, 44, 44, 44, 44, 44, 44, 44, 44,
    44, 44, 44, 44, 44, 44, 44, 44, 44, 44, 44, 44, 44, 44, 44, 44, 44, 44, 44, 44,
    44, 45, 45, 45, 45, 45, 45, 45, 45, 45, 45, 45, 45, 45, 45, 45, 45, 45, 45, 45,
    45, 45, 45, 45, 45, 45, 45, 45, 45, 45, 45, 45, 45, 45, 45, 45, 45, 45, 45, 45,
    45, 45, 45, 45, 45, 45, 45, 45, 45, 45, 45, 45, 45, 45, 45, 45, 45, 45, 45, 45,
    45, 45, 45, 45, 45, 45, 45, 45, 45, 45, 45, 45, 45, 45, 45, 45, 45, 45, 45, 45,
    45, 45, 45, 45, 45, 45, 45, 45, 45, 45, 45, 45, 45, 45, 45, 45, 45, 45, 45, 45,
    45, 45, 45, 45, 45, 45, 45, 45, 45, 45, 45, 45, 45, 45, 45, 45, 45, 45, 45, 45,
    45, 45, 45, 45, 45, 45, 45, 45, 45, 45, 45, 45, 45, 45, 45, 45, 45, 45, 45, 45,
    45, 45, 45, 45, 45, 45, 45, 45, 45, 45, 45, 45, 45, 45, 45, 45, 45, 45, 45, 45,
    45, 45, 45, 45, 45, 45, 45, 45, 45, 45, 45, 45, 45, 45, 45, 45, 45, 45, 45, 45,
    45, 45, 45, 45, 45, 45, 45, 45, 45, 45, 45, 45, 45, 45, 45, 45, 45, 45, 45, 45,
    45, 45, 45, 45, 45, 45, 45, 45, 45, 45, 45, 45, 45, 45, 45, 45, 45, 45, 45, 45,
    45, 45, 45, 45, 45, 45, 45, 45, 45, 45, 45, 45, 45, 45, 45, 45, 45, 45, 45, 45,
    45, 45, 45, 45, 45, 45, 45, 45, 45, 45, 45, 45, 45, 45, 45, 45, 45, 46, 46, 46,
    46, 46, 46, 46, 46, 46, 46, 46, 46, 46, 46, 46, 46, 46, 46, 46, 46, 46, 46, 46,
    46, 46, 46, 46, 46, 46, 46, 46, 46, 46, 46, 46, 46, 46, 46, 46, 46, 46, 46, 46,
    46, 46, 46, 46, 46, 46, 46, 46, 46, 46, 46, 46, 46, 46, 46, 46, 46, 46, 46, 46,
    46, 46, 46, 46, 46, 46, 46, 46, 46, 46, 46, 46, 46, 46, 46, 46, 46, 46, 46, 46,
    46, 46, 46, 46, 46, 46, 46, 46, 46, 46, 46, 46, 46, 46, 46, 46, 46, 46, 46, 46,
    46, 46, 46, 46, 46, 46, 46, 46, 46, 46, 46, 46, 46, 46, 46, 46, 46, 46, 46, 46,
    46, 46, 46, 46, 46, 46, 46, 46, 46, 46, 46, 46, 46, 46, 46, 46, 46, 46, 46, 46,
    46, 46, 46, 46, 46, 46, 46, 46, 46, 46, 46, 46, 46, 46, 46, 46, 46, 46, 46, 46,
    46, 46, 46, 46, 46, 46, 46, 46, 46, 46, 46, 46, 46, 46, 46, 46, 46, 46, 46, 46,
    46, 46, 46, 46, 46, 46, 46, 46, 46, 46, 46, 46, 46, 46, 46, 46, 46, 46, 46, 46,
    46, 46, 46, 46, 46, 46, 46, 46, 46, 46, 46, 46, 46, 46, 46, 46, 46, 46, 46, 46,
    46, 46, 46, 46, 46, 46, 46, 46, 46, 46, 46, 46, 46, 46, 46, 46, 46, 46, 46, 46,
    46, 46, 46, 46, 46, 46, 46, 46, 46, 46, 46, 46, 46, 46, 46, 46, 46, 46, 46, 46,
    46, 46, 46, 46, 46, 46, 46, 46, 46, 46, 46, 46, 46, 46, 46, 46, 46, 46, 46, 46,
    46, 46, 46, 46, 46, 46, 46, 46, 46, 46, 46, 46, 46, 46, 46, 46, 46, 46, 46, 46,
    46, 46, 46, 46, 46, 46, 46, 46, 46, 46, 46, 46, 46, 46, 46, 46, 46, 46, 46, 46,
    46, 46, 46, 46, 46, 46, 46, 46, 46, 46, 46, 46, 46, 46, 46, 46, 46, 46, 46, 46,
    46, 46, 46, 46, 46, 46, 46, 46, 46, 46, 46, 46, 46, 46, 46, 46, 46, 46, 46, 46,
    46, 46, 46, 46, 46, 46, 46, 46, 46, 46, 46, 46, 46, 46, 46, 46, 46, 46, 46, 46,
    46, 46, 46, 46, 46, 46, 46, 46, 46, 46, 46, 46, 46, 46, 46, 46, 46, 46, 46, 46,
    46, 46, 46, 46, 46, 46, 46, 46, 46, 46, 46, 46, 46, 46, 46, 46, 46, 46, 46, 46,
    46, 46, 46, 46, 46, 46, 46, 46, 46, 46, 46, 46, 46, 46, 46, 46, 46, 46, 46, 46,
    46, 46, 46, 46, 46, 46, 46, 46, 46, 46, 46, 46, 46, 46, 46, 46, 46, 46, 46, 46,
    46, 46, 46, 46, 46, 46, 46, 46, 46, 46, 46, 46, 46, 46, 46, 46, 46, 46, 46, 46,
    46, 46, 46, 46, 46, 46, 46, 46, 46, 46, 46, 46, 46, 46, 46, 46, 46, 46, 46, 46,
    46, 46, 46, 46, 46, 46, 46, 46, 46,
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
        [1 + CLASS_352] = nothing + 1,
        [1 + CLASS_384] = nothing + 1,
        [1 + CLASS_416] = nothing + 1,
        [1 + CLASS_448] = nothing + 1,
        [1 + CLASS_480] = nothing + 1,
        [1 + CLASS_512] = nothing + 1,
        [1 + CLASS_640] = nothing + 1,
        [1 + CLASS_768] = nothing + 1,
        [1 + CLASS_896] = nothing + 1,
        [1 + CLASS_1040] = nothing + 1,
        [1 + CLASS_1152] = nothing + 1,
        [1 + CLASS_1344] = nothing + 1,
        [1 + CLASS_1600] = nothing + 1,
        [1 + CLASS_2048] = nothing + 1,
        [1 + CLASS_2304] = nothing + 1,
        [1 + CLASS_2688] = nothing + 1,
        [1 + CLASS_3264] = nothing + 1,
        [1 + CLASS_4096] = nothing + 1,
        [1 + CLASS_4368] = nothing + 1,
        [1 + CLASS_4992] = nothing + 1,
        [1 + CLASS_5952] = nothing + 1,
        [1 + CLASS_7232] = nothing + 1,
        [1 + CLASS_8192] = nothing + 1,
        [1 + CLASS_10240] = nothing + 1,
        [1 + CLASS_12288] = nothing + 1,
        [1 + CLASS_16384] = nothing + 1,
        [1 + CLASS_20480] = nothing + 1,
        [1 + CLASS_24576] = nothing + 1,
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
        [1 + CLASS_352] = nothing + 1,
        [1 + CLASS_384] = nothing + 1,
        [1 + CLASS_416] = nothing + 1,
        [1 + CLASS_448] = nothing + 1,
        [1 + CLASS_480] = nothing + 1,
        [1 + CLASS_512] = nothing + 1,
        [1 + CLASS_640] = nothing + 1,
        [1 + CLASS_768] = nothing + 1,
        [1 + CLASS_896] = nothing + 1,
        [1 + CLASS_1040] = nothing + 1,
        [1 + CLASS_1152] = nothing + 1,
        [1 + CLASS_1344] = nothing + 1,
        [1 + CLASS_1600] = nothing + 1,
        [1 + CLASS_2048] = nothing + 1,
        [1 + CLASS_2304] = nothing + 1,
        [1 + CLASS_2688] = nothing + 1,
        [1 + CLASS_3264] = nothing + 1,
        [1 + CLASS_4096] = nothing + 1,
        [1 + CLASS_4368] = nothing + 1,
        [1 + CLASS_4992] = nothing + 1,
        [1 + CLASS_5952] = nothing + 1,
        [1 + CLASS_7232] = nothing + 1,
        [1 + CLASS_8192] = nothing + 1,
        [1 + CLASS_10240] = nothing + 1,
        [1 + CLASS_12288] = nothing + 1,
        [1 + CLASS_16384] = nothing + 1,
        [1 + CLASS_20480] = nothing + 1,
        [1 + CLASS_24576] = nothing + 1,
        [1 + CLASS_32768] = nothing + 1,
    },
};

__thread struct heap *hs_self = &hs_no_heap;

/* hs_self for what heapsmith.h inlines, under a name that no library of another header has. In the checked build always
 * the heap of no thread: so each call comes here, is counted and is checked. */
static __thread struct heap *inlined = &hs_no_heap;
extern __thread struct heap *hs_heap_e72def72db02_2cca75 __attribute__((alias("inlined"), visibility("default")));

void hs_become(struct heap *heap)
{
    hs_self = heap;
    inlined = HEAPSMITH_CHECKED ? &hs_no_heap : heap;
}
