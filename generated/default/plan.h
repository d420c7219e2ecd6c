/* The numbers of this heap, as enumerators for the emitted C and the runtime.
 *
 * Emitted by heapsmith 0.1.0 from design "default", content hash e72def72db02.
 * Do not edit: change the design, then run: heapsmith generate default -o DIR
 */
#pragma once

#include "1_base/page.h"

/* Sizes: a request of n bytes is of class hs_size_class[(n + SIZE_BIAS + GRAIN - 1) / GRAIN] while n <= SMALL_LIMIT. */
enum {
    CLASS_COUNT = 47,
    GRAIN = 16,
    SIZE_BIAS = 0,
    SIZE_CLASS_COUNT = 2049,
    SMALL_LIMIT = 32768,
    DIRECT_LIMIT = 1024, /* a byte of heap.row_of for each size up to here */
    GUARD_SLOTS = 0, /* a page of them before and behind the slots of each class, never accessible */
    HUGE_BYTES = 33554432,
    REMAP_BYTES = 131072, /* a run that must move to grow so far becomes a huge block */
    ROOM_SHARE = 4, /* of a huge block's pages: as room behind it, where it moved to grow */
};

/* Slabs and superslabs. */
enum {
    LEAST_PAGE_BYTES = 4096, /* of any system */
    SLAB_BYTES = 65536,
    SLAB_SHIFT = 16,
    SUPERSLAB_BYTES = 2097152, /* 32 slabs */
    BITMAP_WORDS = 64, /* 64 marks each: the smallest class has 4096 blocks a slab */
    RECIPROCAL_SHIFT = 42,
};

/* Large blocks. */
enum {
    RUN_BINS = 128,
    RUN_BEST_OF = 32, /* free runs of a bin, from its head */
};

/* Pages back to the OS. */
enum {
    SLAB_BUDGET_BYTES = 1048576,
    RUN_BUDGET_BYTES = 524288,
    MOST_BUDGET_BYTES = 268435456, /* budgets grow up to here as pages that went back are needed again */
    SHARE_PERCENT = 12, /* of a shrunk heap's bytes in use may wait in a queue; 0: no bound */
    SHRUNK = 2, /* times those bytes are less than they have been at most */
    SHARE_SLAB_BYTES = 1048576, /* of empty slabs may wait whatever the share is */
    SHARE_RUN_BYTES = 2097152, /* and of free runs */
    SHARE_WAIT_BYTES = 33554432, /* are freed in a heap that has shrunk before the bound holds */
    SHARE_WAIT_PERCENT = 25, /* of the most that it has used, where that is less; 0: always all of them */
    SHARE_WAIT_PARTS = 8, /* of them a heap waits for one at least */
    SHARE_MISS_BYTES = 131072, /* for which a miss counts */
    SHARE_DRAWN_BYTES = 2097152, /* that a miss takes away if some of what waited was taken */
    SHARE_LESSON_BYTES = 2097152, /* more patience each time that a heap rises after it gave back */
    PEAK_PERCENT = 100, /* of the heap's peak, beyond which nothing waits; 0: never */
    BUDGET_GROWTH = 4, /* bytes for each byte needed again */
    RELEASE_LAZILY = 0,
    HUGE_PAGE_BYTES = 2097152,
};

/* Hardening. */
enum {
    TAIL_BYTES = 0, /* behind each block's usable bytes */
    GUARD_BYTES = 0, /* at the end of each superslab, never accessible */
    QUARANTINE = 0,
    QUARANTINE_SLOTS = 1,
    STOPS = 0, /* 1: misuse that the library sees ends the program */
    CHECK_GIVEN = 0, /* 1: a block that comes back to its slab is looked at */
    ENCODE_LINKS = 0,
    ZERO_FREED = 0, /* a freed block's bytes are zero until it is handed out */
};

/* Address space. */
enum {
    SLAB_SPAN_BYTES = 274877906944,
    SPAN_SLABS = 4194304,
    REGIONS = 1, /* of the slab span: one per class, or one for all */
    REGION_BYTES = 274877906944,
    REGION_SHIFT = 38,
    SLAB_CLASSES_BYTES = 4194304, /* of whole pages, whatever their size */
    CLASS_MAP_BYTES = 1, /* of these, for each slab */
    LIVE_MAP = 0, /* 1: a byte per GRAIN bytes of the slab span */
    RUN_SPAN_BYTES = 274877906944,
    RUN_STEP_BYTES = 4194304, /* made accessible together, if the system grants them */
};

/* Records of a heap. */
enum {
    FRONT_RECORDS = 1,
    STORE_RECORDS = 1,
};

/* Slots of level 0, all classes, per heap; before those of each class one that is never filled. */
enum { SLOT_COUNT = 5189 };

/* Locks by number: whose begin where, and how many there are. */
enum {
    SHARDS_FIRST_LOCK = 0,
    NUMBERED_LOCKS = 32,
};

/* Numbers of the policies. */
enum {
    POPULATE_MOST_BYTES = 65536,
    POPULATE_SHARE = 32,
    FIRST_BLOCKS = 1,
    IDLE_PERCENT = 6,
    COMPACT_BLOCKS = 7,
    OPENS_BY_FREES = 16,
    RECORD_ALIGNMENT = 0,
    UNMAP_FROM = 2,
    SHARDS = 16,
    RUN_CACHE_BYTES = 4194304,
    RUN_CACHE_SHARE_PERCENT = 2,
    RUN_CACHE_SLACK_PERCENT = 12,
    RUN_CACHE_SLOTS = 16,
    RUN_CACHE_FLOOR_BYTES = 1048576,
    RUN_CACHE_LEAST_BYTES = 65536,
    RUN_CACHE_AFTER = 512,
    RUN_CACHE_ALONE = 256,
    TRANSFER_SLOTS = 19048,
    TRANSFER_IDLE = 16,
    TRANSFER_FROM_HEAPS = 2,
    THP_SLABS_FROM_BYTES = 134217728,
    THP_RUNS_FROM_BYTES = 134217728,
    THP_BLOCK_BYTES = 4096,
};

/* The files of this design's policies that others take in by these names. */
#define BLOCK_INDEX_ROW "4_blocks/block_index/reciprocal.h"
#define COUNTING_ROW "1_base/counting/slow.h"
#define CRASH_ROW "1_base/crash/silent.h"
#define FREED_BLOCKS_ROW "4_blocks/freed_blocks/bitmap.h"
#define GROWTH_ROW "2_system/growth/off.h"
#define HEAPS_COUNTS "2_system/heaps/one_writer.h"
#define HEAPS_ROW "8_threads/heaps/thread.h"
#define HEAPS_STACKS "3_records/heaps/later.h"
#define HUGE_CACHE_ROW "7_large/huge_cache/off.h"
#define LEARNER_CAPACITY "3_records/learner/stated.h"
#define LOOKUP_ROW "3_records/lookup/heap_table.h"
#define OPENING_ROW "8_threads/opening/later.h"
#define OPENING_SLOTS "3_records/opening/compact.h"
#define OWNERSHIP_ROW "5_slab_policies/ownership/slab.h"
#define POOL_LISTS "5_slab_policies/pool/locked.h"
#define POOL_SUPERSLABS "5_slab_policies/pool/in_turn.h"
#define POPULATE_ROW "2_system/populate/growing.h"
#define PREWARM_ROW "8_threads/prewarm/off.h"
#define PREWARM_SPARING "2_system/prewarm/sparing.h"
#define RELEASE_CLOCK "5_slab_policies/release/share_clock.h"
#define RELEASE_LIMIT "5_slab_policies/release/no_limit.h"
#define REMOTE_DRAINS "5_slab_policies/remote/drains_whole.h"
#define ROUNDING_ROW "6_slabs/rounding/off.h"
#define RUN_CACHE_ROW "7_large/run_cache/newest.h"
#define SAMPLING_API "9_api/sampling/no_profile.h"
#define SAMPLING_FAMILY "9_api/sampling/unrecorded.h"
#define SAMPLING_GUARDS "7_large/sampling/unguarded.h"
#define SAMPLING_PARKED "3_records/sampling/unparked.h"
#define SAMPLING_RECORD "9_api/sampling/no_record.h"
#define SAMPLING_ROW "9_api/sampling/off.h"
#define SEGREGATION_ROW "3_records/segregation/off.h"
#define SHARDS_BY "5_slab_policies/shards/by_class.h"
#define SHARDS_HEAP "5_slab_policies/shards/no_shard.h"
#define SHARDS_ROW "5_slab_policies/shards/striped.h"
#define SHARDS_VACANCIES "5_slab_policies/shards/one_set.h"
#define SLAB_RECORD_FIELDS "3_records/slab_record/no_copy.h"
#define SLAB_RECORD_NUMBERS "4_blocks/slab_record/of_class.h"
#define SLAB_RECORD_ROW "3_records/slab_record/apart.h"
#define THP_ROW "2_system/thp/grown.h"
#define THP_RUNS "7_large/thp/sampled_runs.h"
#define TRANSFER_ROW "6_slabs/transfer/batches.h"

enum {
    CLASS_16 = 0,
    CLASS_32 = 1,
    CLASS_48 = 2,
    CLASS_64 = 3,
    CLASS_80 = 4,
    CLASS_96 = 5,
    CLASS_112 = 6,
    CLASS_128 = 7,
    CLASS_144 = 8,
    CLASS_160 = 9,
    CLASS_176 = 10,
    CLASS_192 = 11,
    CLASS_208 = 12,
    CLASS_224 = 13,
    CLASS_240 = 14,
    CLASS_256 = 15,
    CLASS_288 = 16,
    CLASS_320 = 17,
    CLASS_352 = 18,
    CLASS_384 = 19,
    CLASS_416 = 20,
    CLASS_448 = 21,
    CLASS_480 = 22,
    CLASS_512 = 23,
    CLASS_640 = 24,
    CLASS_768 = 25,
    CLASS_896 = 26,
    CLASS_1040 = 27,
    CLASS_1152 = 28,
    CLASS_1344 = 29,
    CLASS_1600 = 30,
    CLASS_2048 = 31,
    CLASS_2304 = 32,
    CLASS_2688 = 33,
    CLASS_3264 = 34,
    CLASS_4096 = 35,
    CLASS_4368 = 36,
    CLASS_4992 = 37,
    CLASS_5952 = 38,
    CLASS_7232 = 39,
    CLASS_8192 = 40,
    CLASS_10240 = 41,
    CLASS_12288 = 42,
    CLASS_16384 = 43,
    CLASS_20480 = 44,
    CLASS_24576 = 45,
    CLASS_32768 = 46,
};

enum {
    SLOT_16 = 377,
    SLOT_32 = 506,
    SLOT_48 = 635,
    SLOT_64 = 764,
    SLOT_80 = 893,
    SLOT_96 = 1022,
    SLOT_112 = 1151,
    SLOT_128 = 1280,
    SLOT_144 = 1409,
    SLOT_160 = 1538,
    SLOT_176 = 1667,
    SLOT_192 = 1796,
    SLOT_208 = 1925,
    SLOT_224 = 2054,
    SLOT_240 = 2183,
    SLOT_256 = 2312,
    SLOT_288 = 2441,
    SLOT_320 = 2570,
    SLOT_352 = 2699,
    SLOT_384 = 2828,
    SLOT_416 = 2957,
    SLOT_448 = 3086,
    SLOT_480 = 3215,
    SLOT_512 = 3344,
    SLOT_640 = 3473,
    SLOT_768 = 3602,
    SLOT_896 = 3731,
    SLOT_1040 = 3860,
    SLOT_1152 = 3989,
    SLOT_1344 = 4118,
    SLOT_1600 = 4247,
    SLOT_2048 = 4376,
    SLOT_2304 = 4505,
    SLOT_2688 = 4619,
    SLOT_3264 = 4717,
    SLOT_4096 = 4798,
    SLOT_4368 = 4863,
    SLOT_4992 = 4924,
    SLOT_5952 = 4977,
    SLOT_7232 = 5022,
    SLOT_8192 = 5059,
    SLOT_10240 = 5092,
    SLOT_12288 = 5118,
    SLOT_16384 = 5140,
    SLOT_20480 = 5157,
    SLOT_24576 = 5170,
    SLOT_32768 = 5181,
};
