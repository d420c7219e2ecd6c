/* The hit paths of this heap: malloc and free, and a straight-line alloc and free per size class.
 *
 * Emitted by heapsmith 0.1.0 from design "two-level", content hash a71557685b7a.
 * Do not edit: change the design, then run: heapsmith generate two-level -o DIR
 */
/* What heap.c defines is in this library: it is reached without a load of its address. */
#pragma GCC visibility push(hidden)
#include "3_records/api.h"
#include "8_threads/front/none.h"
#include "8_threads/front/stack.h"
#include "8_threads/front/array_stack.h"
#include "8_threads/front/two_level.h"
#include "9_api/foreign/elsewhere.h"
#include "8_threads/large.h"
#include "3_records/span.h"
#include "8_threads/thread.h"
#pragma GCC visibility pop

/* 16-byte blocks for requests of 0 to 16 bytes: at most 16 bytes unused inside, 4096 blocks a slab.
 * Array stack over a linked list, both LIFO and of the heap's thread alone.
 * Level 0: capacity 64, refill 32, spill 32, promote 32. Level 1: capacity 512, flush 256.
 * No hit path: malloc pops the stack and free pushes it, by its row. They come here when it is empty or full. */
static void *alloc_16(void)
{
    return two_level_refill(hs_self, CLASS_16);
}

static void free_16(void *block)
{
    two_level_spill(hs_self, CLASS_16, block);
}

/* 32-byte blocks for requests of 17 to 32 bytes: at most 15 bytes unused inside, 2048 blocks a slab.
 * Array stack over a linked list, both LIFO and of the heap's thread alone.
 * Level 0: capacity 64, refill 32, spill 32, promote 32. Level 1: capacity 512, flush 256.
 * No hit path: malloc pops the stack and free pushes it, by its row. They come here when it is empty or full. */
static void *alloc_32(void)
{
    return two_level_refill(hs_self, CLASS_32);
}

static void free_32(void *block)
{
    two_level_spill(hs_self, CLASS_32, block);
}

/* 48-byte blocks for requests of 33 to 48 bytes: at most 15 bytes unused inside, 1365 blocks a slab.
 * Array stack over a linked list, both LIFO and of the heap's thread alone.
 * Level 0: capacity 64, refill 32, spill 32, promote 32. Level 1: capacity 512, flush 256.
 * No hit path: malloc pops the stack and free pushes it, by its row. They come here when it is empty or full. */
static void *alloc_48(void)
{
    return two_level_refill(hs_self, CLASS_48);
}

static void free_48(void *block)
{
    two_level_spill(hs_self, CLASS_48, block);
}

/* 64-byte blocks for requests of 49 to 64 bytes: at most 15 bytes unused inside, 1024 blocks a slab.
 * Array stack over a linked list, both LIFO and of the heap's thread alone.
 * Level 0: capacity 64, refill 32, spill 32, promote 32. Level 1: capacity 512, flush 256.
 * No hit path: malloc pops the stack and free pushes it, by its row. They come here when it is empty or full. */
static void *alloc_64(void)
{
    return two_level_refill(hs_self, CLASS_64);
}

static void free_64(void *block)
{
    two_level_spill(hs_self, CLASS_64, block);
}

/* 80-byte blocks for requests of 65 to 80 bytes: at most 15 bytes unused inside, 819 blocks a slab.
 * Array stack: LIFO, written and read by the heap's thread alone; the freed block is not touched.
 * Capacity 64, refill 32, flush 32.
 * No hit path: malloc pops the stack and free pushes it, by its row. They come here when it is empty or full. */
static void *alloc_80(void)
{
    return array_stack_refill(hs_self, CLASS_80);
}

static void free_80(void *block)
{
    array_stack_flush(hs_self, CLASS_80, block);
}

/* 96-byte blocks for requests of 81 to 96 bytes: at most 15 bytes unused inside, 682 blocks a slab.
 * Array stack: LIFO, written and read by the heap's thread alone; the freed block is not touched.
 * Capacity 64, refill 32, flush 32.
 * No hit path: malloc pops the stack and free pushes it, by its row. They come here when it is empty or full. */
static void *alloc_96(void)
{
    return array_stack_refill(hs_self, CLASS_96);
}

static void free_96(void *block)
{
    array_stack_flush(hs_self, CLASS_96, block);
}

/* 112-byte blocks for requests of 97 to 112 bytes: at most 15 bytes unused inside, 585 blocks a slab.
 * Array stack: LIFO, written and read by the heap's thread alone; the freed block is not touched.
 * Capacity 64, refill 32, flush 32.
 * No hit path: malloc pops the stack and free pushes it, by its row. They come here when it is empty or full. */
static void *alloc_112(void)
{
    return array_stack_refill(hs_self, CLASS_112);
}

static void free_112(void *block)
{
    array_stack_flush(hs_self, CLASS_112, block);
}

/* 128-byte blocks for requests of 113 to 128 bytes: at most 15 bytes unused inside, 512 blocks a slab.
 * Array stack: LIFO, written and read by the heap's thread alone; the freed block is not touched.
 * Capacity 64, refill 32, flush 32.
 * No hit path: malloc pops the stack and free pushes it, by its row. They come here when it is empty or full. */
static void *alloc_128(void)
{
    return array_stack_refill(hs_self, CLASS_128);
}

static void free_128(void *block)
{
    array_stack_flush(hs_self, CLASS_128, block);
}

/* 160-byte blocks for requests of 129 to 160 bytes: at most 31 bytes unused inside, 409 blocks a slab.
 * Array stack: LIFO, written and read by the heap's thread alone; the freed block is not touched.
 * Capacity 64, refill 25, flush 32.
 * No hit path: malloc pops the stack and free pushes it, by its row. They come here when it is empty or full. */
static void *alloc_160(void)
{
    return array_stack_refill(hs_self, CLASS_160);
}

static void free_160(void *block)
{
    array_stack_flush(hs_self, CLASS_160, block);
}

/* 192-byte blocks for requests of 161 to 192 bytes: at most 31 bytes unused inside, 341 blocks a slab.
 * Array stack: LIFO, written and read by the heap's thread alone; the freed block is not touched.
 * Capacity 64, refill 21, flush 32.
 * No hit path: malloc pops the stack and free pushes it, by its row. They come here when it is empty or full. */
static void *alloc_192(void)
{
    return array_stack_refill(hs_self, CLASS_192);
}

static void free_192(void *block)
{
    array_stack_flush(hs_self, CLASS_192, block);
}

/* 224-byte blocks for requests of 193 to 224 bytes: at most 31 bytes unused inside, 292 blocks a slab.
 * Array stack: LIFO, written and read by the heap's thread alone; the freed block is not touched.
 * Capacity 64, refill 18, flush 32.
 * No hit path: malloc pops the stack and free pushes it, by its row. They come here when it is empty or full. */
static void *alloc_224(void)
{
    return array_stack_refill(hs_self, CLASS_224);
}

static void free_224(void *block)
{
    array_stack_flush(hs_self, CLASS_224, block);
}

/* 256-byte blocks for requests of 225 to 256 bytes: at most 31 bytes unused inside, 256 blocks a slab.
 * Array stack: LIFO, written and read by the heap's thread alone; the freed block is not touched.
 * Capacity 64, refill 16, flush 32.
 * No hit path: malloc pops the stack and free pushes it, by its row. They come here when it is empty or full. */
static void *alloc_256(void)
{
    return array_stack_refill(hs_self, CLASS_256);
}

static void free_256(void *block)
{
    array_stack_flush(hs_self, CLASS_256, block);
}

/* 320-byte blocks for requests of 257 to 320 bytes: at most 63 bytes unused inside, 204 blocks a slab.
 * Array stack: LIFO, written and read by the heap's thread alone; the freed block is not touched.
 * Capacity 64, refill 12, flush 32.
 * No hit path: malloc pops the stack and free pushes it, by its row. They come here when it is empty or full. */
static void *alloc_320(void)
{
    return array_stack_refill(hs_self, CLASS_320);
}

static void free_320(void *block)
{
    array_stack_flush(hs_self, CLASS_320, block);
}

/* 384-byte blocks for requests of 321 to 384 bytes: at most 63 bytes unused inside, 170 blocks a slab.
 * Array stack: LIFO, written and read by the heap's thread alone; the freed block is not touched.
 * Capacity 64, refill 10, flush 32.
 * No hit path: malloc pops the stack and free pushes it, by its row. They come here when it is empty or full. */
static void *alloc_384(void)
{
    return array_stack_refill(hs_self, CLASS_384);
}

static void free_384(void *block)
{
    array_stack_flush(hs_self, CLASS_384, block);
}

/* 448-byte blocks for requests of 385 to 448 bytes: at most 63 bytes unused inside, 146 blocks a slab.
 * Array stack: LIFO, written and read by the heap's thread alone; the freed block is not touched.
 * Capacity 64, refill 9, flush 32.
 * No hit path: malloc pops the stack and free pushes it, by its row. They come here when it is empty or full. */
static void *alloc_448(void)
{
    return array_stack_refill(hs_self, CLASS_448);
}

static void free_448(void *block)
{
    array_stack_flush(hs_self, CLASS_448, block);
}

/* 512-byte blocks for requests of 449 to 512 bytes: at most 63 bytes unused inside, 128 blocks a slab.
 * Array stack: LIFO, written and read by the heap's thread alone; the freed block is not touched.
 * Capacity 64, refill 8, flush 32.
 * No hit path: malloc pops the stack and free pushes it, by its row. They come here when it is empty or full. */
static void *alloc_512(void)
{
    return array_stack_refill(hs_self, CLASS_512);
}

static void free_512(void *block)
{
    array_stack_flush(hs_self, CLASS_512, block);
}

/* 640-byte blocks for requests of 513 to 640 bytes: at most 127 bytes unused inside, 102 blocks a slab.
 * Array stack: LIFO, written and read by the heap's thread alone; the freed block is not touched.
 * Capacity 64, refill 6, flush 32.
 * No hit path: malloc pops the stack and free pushes it, by its row. They come here when it is empty or full. */
static void *alloc_640(void)
{
    return array_stack_refill(hs_self, CLASS_640);
}

static void free_640(void *block)
{
    array_stack_flush(hs_self, CLASS_640, block);
}

/* 768-byte blocks for requests of 641 to 768 bytes: at most 127 bytes unused inside, 85 blocks a slab.
 * Array stack: LIFO, written and read by the heap's thread alone; the freed block is not touched.
 * Capacity 64, refill 5, flush 32.
 * No hit path: malloc pops the stack and free pushes it, by its row. They come here when it is empty or full. */
static void *alloc_768(void)
{
    return array_stack_refill(hs_self, CLASS_768);
}

static void free_768(void *block)
{
    array_stack_flush(hs_self, CLASS_768, block);
}

/* 896-byte blocks for requests of 769 to 896 bytes: at most 127 bytes unused inside, 73 blocks a slab.
 * Array stack: LIFO, written and read by the heap's thread alone; the freed block is not touched.
 * Capacity 64, refill 4, flush 32.
 * No hit path: malloc pops the stack and free pushes it, by its row. They come here when it is empty or full. */
static void *alloc_896(void)
{
    return array_stack_refill(hs_self, CLASS_896);
}

static void free_896(void *block)
{
    array_stack_flush(hs_self, CLASS_896, block);
}

/* 1024-byte blocks for requests of 897 to 1024 bytes: at most 127 bytes unused inside, 64 blocks a slab.
 * Array stack: LIFO, written and read by the heap's thread alone; the freed block is not touched.
 * Capacity 64, refill 4, flush 32.
 * No hit path: malloc pops the stack and free pushes it, by its row. They come here when it is empty or full. */
static void *alloc_1024(void)
{
    return array_stack_refill(hs_self, CLASS_1024);
}

static void free_1024(void *block)
{
    array_stack_flush(hs_self, CLASS_1024, block);
}

/* 1280-byte blocks for requests of 1025 to 1280 bytes: at most 255 bytes unused inside, 51 blocks a slab.
 * Array stack: LIFO, written and read by the heap's thread alone; the freed block is not touched.
 * Capacity 64, refill 3, flush 32.
 * No hit path: malloc pops the stack and free pushes it, by its row. They come here when it is empty or full. */
static void *alloc_1280(void)
{
    return array_stack_refill(hs_self, CLASS_1280);
}

static void free_1280(void *block)
{
    array_stack_flush(hs_self, CLASS_1280, block);
}

/* 1536-byte blocks for requests of 1281 to 1536 bytes: at most 255 bytes unused inside, 42 blocks a slab.
 * Array stack: LIFO, written and read by the heap's thread alone; the freed block is not touched.
 * Capacity 64, refill 2, flush 32.
 * No hit path: malloc pops the stack and free pushes it, by its row. They come here when it is empty or full. */
static void *alloc_1536(void)
{
    return array_stack_refill(hs_self, CLASS_1536);
}

static void free_1536(void *block)
{
    array_stack_flush(hs_self, CLASS_1536, block);
}

/* 1792-byte blocks for requests of 1537 to 1792 bytes: at most 255 bytes unused inside, 36 blocks a slab.
 * Array stack: LIFO, written and read by the heap's thread alone; the freed block is not touched.
 * Capacity 64, refill 2, flush 32.
 * No hit path: malloc pops the stack and free pushes it, by its row. They come here when it is empty or full. */
static void *alloc_1792(void)
{
    return array_stack_refill(hs_self, CLASS_1792);
}

static void free_1792(void *block)
{
    array_stack_flush(hs_self, CLASS_1792, block);
}

/* 2048-byte blocks for requests of 1793 to 2048 bytes: at most 255 bytes unused inside, 32 blocks a slab.
 * Array stack: LIFO, written and read by the heap's thread alone; the freed block is not touched.
 * Capacity 64, refill 2, flush 32.
 * No hit path: malloc pops the stack and free pushes it, by its row. They come here when it is empty or full. */
static void *alloc_2048(void)
{
    return array_stack_refill(hs_self, CLASS_2048);
}

static void free_2048(void *block)
{
    array_stack_flush(hs_self, CLASS_2048, block);
}

/* 2560-byte blocks for requests of 2049 to 2560 bytes: at most 511 bytes unused inside, 25 blocks a slab.
 * Array stack: LIFO, written and read by the heap's thread alone; the freed block is not touched.
 * Capacity 51, refill 1, flush 25.
 * No hit path: malloc pops the stack and free pushes it, by its row. They come here when it is empty or full. */
static void *alloc_2560(void)
{
    return array_stack_refill(hs_self, CLASS_2560);
}

static void free_2560(void *block)
{
    array_stack_flush(hs_self, CLASS_2560, block);
}

/* 3072-byte blocks for requests of 2561 to 3072 bytes: at most 511 bytes unused inside, 21 blocks a slab.
 * Array stack: LIFO, written and read by the heap's thread alone; the freed block is not touched.
 * Capacity 42, refill 1, flush 21.
 * No hit path: malloc pops the stack and free pushes it, by its row. They come here when it is empty or full. */
static void *alloc_3072(void)
{
    return array_stack_refill(hs_self, CLASS_3072);
}

static void free_3072(void *block)
{
    array_stack_flush(hs_self, CLASS_3072, block);
}

/* 3584-byte blocks for requests of 3073 to 3584 bytes: at most 511 bytes unused inside, 18 blocks a slab.
 * Array stack: LIFO, written and read by the heap's thread alone; the freed block is not touched.
 * Capacity 36, refill 1, flush 18.
 * No hit path: malloc pops the stack and free pushes it, by its row. They come here when it is empty or full. */
static void *alloc_3584(void)
{
    return array_stack_refill(hs_self, CLASS_3584);
}

static void free_3584(void *block)
{
    array_stack_flush(hs_self, CLASS_3584, block);
}

/* 4096-byte blocks for requests of 3585 to 4096 bytes: at most 511 bytes unused inside, 16 blocks a slab.
 * Array stack: LIFO, written and read by the heap's thread alone; the freed block is not touched.
 * Capacity 32, refill 1, flush 16.
 * No hit path: malloc pops the stack and free pushes it, by its row. They come here when it is empty or full. */
static void *alloc_4096(void)
{
    return array_stack_refill(hs_self, CLASS_4096);
}

static void free_4096(void *block)
{
    array_stack_flush(hs_self, CLASS_4096, block);
}

/* 5120-byte blocks for requests of 4097 to 5120 bytes: at most 1023 bytes unused inside, 12 blocks a slab.
 * Array stack: LIFO, written and read by the heap's thread alone; the freed block is not touched.
 * Capacity 25, refill 1, flush 12.
 * No hit path: malloc pops the stack and free pushes it, by its row. They come here when it is empty or full. */
static void *alloc_5120(void)
{
    return array_stack_refill(hs_self, CLASS_5120);
}

static void free_5120(void *block)
{
    array_stack_flush(hs_self, CLASS_5120, block);
}

/* 6144-byte blocks for requests of 5121 to 6144 bytes: at most 1023 bytes unused inside, 10 blocks a slab.
 * Array stack: LIFO, written and read by the heap's thread alone; the freed block is not touched.
 * Capacity 21, refill 1, flush 10.
 * No hit path: malloc pops the stack and free pushes it, by its row. They come here when it is empty or full. */
static void *alloc_6144(void)
{
    return array_stack_refill(hs_self, CLASS_6144);
}

static void free_6144(void *block)
{
    array_stack_flush(hs_self, CLASS_6144, block);
}

/* 7168-byte blocks for requests of 6145 to 7168 bytes: at most 1023 bytes unused inside, 9 blocks a slab.
 * Array stack: LIFO, written and read by the heap's thread alone; the freed block is not touched.
 * Capacity 18, refill 1, flush 9.
 * No hit path: malloc pops the stack and free pushes it, by its row. They come here when it is empty or full. */
static void *alloc_7168(void)
{
    return array_stack_refill(hs_self, CLASS_7168);
}

static void free_7168(void *block)
{
    array_stack_flush(hs_self, CLASS_7168, block);
}

/* 8192-byte blocks for requests of 7169 to 8192 bytes: at most 1023 bytes unused inside, 8 blocks a slab.
 * Array stack: LIFO, written and read by the heap's thread alone; the freed block is not touched.
 * Capacity 16, refill 1, flush 8.
 * No hit path: malloc pops the stack and free pushes it, by its row. They come here when it is empty or full. */
static void *alloc_8192(void)
{
    return array_stack_refill(hs_self, CLASS_8192);
}

static void free_8192(void *block)
{
    array_stack_flush(hs_self, CLASS_8192, block);
}

/* 10240-byte blocks for requests of 8193 to 10240 bytes: at most 2047 bytes unused inside, 6 blocks a slab.
 * Array stack: LIFO, written and read by the heap's thread alone; the freed block is not touched.
 * Capacity 12, refill 1, flush 6.
 * No hit path: malloc pops the stack and free pushes it, by its row. They come here when it is empty or full. */
static void *alloc_10240(void)
{
    return array_stack_refill(hs_self, CLASS_10240);
}

static void free_10240(void *block)
{
    array_stack_flush(hs_self, CLASS_10240, block);
}

/* 12288-byte blocks for requests of 10241 to 12288 bytes: at most 2047 bytes unused inside, 5 blocks a slab.
 * Array stack: LIFO, written and read by the heap's thread alone; the freed block is not touched.
 * Capacity 10, refill 1, flush 5.
 * No hit path: malloc pops the stack and free pushes it, by its row. They come here when it is empty or full. */
static void *alloc_12288(void)
{
    return array_stack_refill(hs_self, CLASS_12288);
}

static void free_12288(void *block)
{
    array_stack_flush(hs_self, CLASS_12288, block);
}

/* 14336-byte blocks for requests of 12289 to 14336 bytes: at most 2047 bytes unused inside, 4 blocks a slab.
 * Array stack: LIFO, written and read by the heap's thread alone; the freed block is not touched.
 * Capacity 9, refill 1, flush 4.
 * No hit path: malloc pops the stack and free pushes it, by its row. They come here when it is empty or full. */
static void *alloc_14336(void)
{
    return array_stack_refill(hs_self, CLASS_14336);
}

static void free_14336(void *block)
{
    array_stack_flush(hs_self, CLASS_14336, block);
}

/* 16384-byte blocks for requests of 14337 to 16384 bytes: at most 2047 bytes unused inside, 4 blocks a slab.
 * Array stack: LIFO, written and read by the heap's thread alone; the freed block is not touched.
 * Capacity 8, refill 1, flush 4.
 * No hit path: malloc pops the stack and free pushes it, by its row. They come here when it is empty or full. */
static void *alloc_16384(void)
{
    return array_stack_refill(hs_self, CLASS_16384);
}

static void free_16384(void *block)
{
    array_stack_flush(hs_self, CLASS_16384, block);
}

/* 20480-byte blocks for requests of 16385 to 20480 bytes: at most 4095 bytes unused inside, 3 blocks a slab.
 * No front.
 * No hit path: both calls go to the store. */
static void *alloc_20480(void)
{
    return none_alloc(hs_self, CLASS_20480);
}

static void free_20480(void *block)
{
    none_free(hs_self, CLASS_20480, block);
}

/* 24576-byte blocks for requests of 20481 to 24576 bytes: at most 4095 bytes unused inside, 2 blocks a slab.
 * No front.
 * No hit path: both calls go to the store. */
static void *alloc_24576(void)
{
    return none_alloc(hs_self, CLASS_24576);
}

static void free_24576(void *block)
{
    none_free(hs_self, CLASS_24576, block);
}

/* 28672-byte blocks for requests of 24577 to 28672 bytes: at most 4095 bytes unused inside, 2 blocks a slab.
 * No front.
 * No hit path: both calls go to the store. */
static void *alloc_28672(void)
{
    return none_alloc(hs_self, CLASS_28672);
}

static void free_28672(void *block)
{
    none_free(hs_self, CLASS_28672, block);
}

/* 32768-byte blocks for requests of 28673 to 32768 bytes: at most 4095 bytes unused inside, 2 blocks a slab.
 * No front.
 * No hit path: both calls go to the store. */
static void *alloc_32768(void)
{
    return none_alloc(hs_self, CLASS_32768);
}

static void free_32768(void *block)
{
    none_free(hs_self, CLASS_32768, block);
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
    alloc_160,
    alloc_192,
    alloc_224,
    alloc_256,
    alloc_320,
    alloc_384,
    alloc_448,
    alloc_512,
    alloc_640,
    alloc_768,
    alloc_896,
    alloc_1024,
    alloc_1280,
    alloc_1536,
    alloc_1792,
    alloc_2048,
    alloc_2560,
    alloc_3072,
    alloc_3584,
    alloc_4096,
    alloc_5120,
    alloc_6144,
    alloc_7168,
    alloc_8192,
    alloc_10240,
    alloc_12288,
    alloc_14336,
    alloc_16384,
    alloc_20480,
    alloc_24576,
    alloc_28672,
    alloc_32768,
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
    free_160,
    free_192,
    free_224,
    free_256,
    free_320,
    free_384,
    free_448,
    free_512,
    free_640,
    free_768,
    free_896,
    free_1024,
    free_1280,
    free_1536,
    free_1792,
    free_2048,
    free_2560,
    free_3072,
    free_3584,
    free_4096,
    free_5120,
    free_6144,
    free_7168,
    free_8192,
    free_10240,
    free_12288,
    free_14336,
    free_16384,
    free_20480,
    free_24576,
    free_28672,
    free_32768,
};

/* The block, now that it has left the stack. One instruction where the compiler, which has read top before, would take
 * two; and the block is in the register that it is returned in, or there would be a third. */
static inline void *hs_stack_popped(void ***top, void *block)
{
    __asm__("subq $8, %0" : "+m"(*top), "+a"(block) : : "cc");
    return block;
}

/* The slot at top was filled. */
static inline void hs_stack_pushed(void ***top)
{
    __asm__("addq $8, %0" : "+m"(*top) : : "cc");
}

/* malloc pops the stack in the row of the class, and free pushes it. The processor would have to guess a jump to a
 * function of the class, and guesses wrong where sizes alternate (docs/dispatch.md). Rows of other fronts, and of
 * stacks that have had no block yet, are empty and full. */

static __attribute__((noinline)) void *malloc_miss(size_t bytes)
{
    return alloc_of[size_to_class(bytes)]();
}

static inline void *pop(struct heap *heap, size_t row, size_t bytes)
{
    void *block = heap->top[row][-1];
    if (block == NULL) /* empty, or another front, or no heap */
        return malloc_miss(bytes);
    count_checked(&heap->count[row - 1].hit0);
    return hs_stack_popped(&heap->top[row], block);
}

/* Hit path: 6 loads, 1 store, 2 branches. */
static __attribute__((noinline)) void *malloc_above(size_t bytes)
{
    if (bytes > SMALL_LIMIT)
        return hs_malloc_large(bytes);
    return pop(hs_self, 1 + (size_t)size_to_class(bytes), bytes);
}

/* Hit path: 6 loads, 1 store, 2 branches. */
void *malloc(size_t bytes)
{
    if (bytes > DIRECT_LIMIT)
        return malloc_above(bytes);
    struct heap *heap = hs_self;
    return pop(heap, heap->row_of[bytes], bytes);
}

static __attribute__((noinline)) void free_miss(size_t row, void *block)
{
    free_of[row](block);
}

static inline void push(size_t row, void *block)
{
    struct heap *heap = hs_self;
    void **top = heap->top[row];
    if (top == heap->end[row]) { /* full or not open, or another front, or no class, or no heap */
        free_miss(row, block);
        return;
    }
    count_checked(&heap->count[row - 1].push);
    *top = block;
    hs_stack_pushed(&heap->top[row]);
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

/* Hit path: 8 loads, 2 stores, 2 branches. */
void free(void *block)
{
    if (!in_slab_span(block)) {
        hs_free_large(block);
        return;
    }
    free_small(block);
}
