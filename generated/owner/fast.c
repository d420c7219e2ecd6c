/* The hit paths of this heap: a straight-line alloc and free per size class, malloc and free over them.
 *
 * Emitted by heapsmith 0.1.0 from design "owner", content hash cf32a998cd0b.
 * Do not edit: change the design, then run: heapsmith generate owner -o DIR
 */
#include "api.h"
#include "front/array_stack.h"
#include "classifier/slab_map.h"
#include "remote/owner_list.h"
#include "large.h"
#include "span.h"

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

/* 16-byte blocks for requests of 0 to 16 bytes: at most 16 bytes unused inside, 1024 blocks a slab.
 * Array stack: LIFO, written and read by the heap's thread alone; the freed block is not touched.
 * Capacity 64, refill 32, flush 32.
 * Hit path: alloc 5 loads, 1 store, 1 branch; free 5 loads, 2 stores, 1 branch. */
static void *alloc_16(void)
{
    struct heap *heap = hs_self;
    void *block = heap->top[1 + CLASS_16][-1];
    if (block == NULL) /* empty, or no heap */
        return array_stack_refill(heap, CLASS_16);
    count_checked(&heap->count[CLASS_16].hit0);
    return hs_stack_popped(&heap->top[1 + CLASS_16], block);
}

static void free_16(void *block)
{
    struct heap *heap = hs_self;
    void **top = heap->top[1 + CLASS_16];
    if (top == heap->end[1 + CLASS_16]) { /* full, or no heap */
        array_stack_flush(heap, CLASS_16, block);
        return;
    }
    count_checked(&heap->count[CLASS_16].push);
    *top = block;
    hs_stack_pushed(&heap->top[1 + CLASS_16]);
}

/* 32-byte blocks for requests of 17 to 32 bytes: at most 15 bytes unused inside, 512 blocks a slab.
 * Array stack: LIFO, written and read by the heap's thread alone; the freed block is not touched.
 * Capacity 64, refill 32, flush 32.
 * Hit path: alloc 5 loads, 1 store, 1 branch; free 5 loads, 2 stores, 1 branch. */
static void *alloc_32(void)
{
    struct heap *heap = hs_self;
    void *block = heap->top[1 + CLASS_32][-1];
    if (block == NULL) /* empty, or no heap */
        return array_stack_refill(heap, CLASS_32);
    count_checked(&heap->count[CLASS_32].hit0);
    return hs_stack_popped(&heap->top[1 + CLASS_32], block);
}

static void free_32(void *block)
{
    struct heap *heap = hs_self;
    void **top = heap->top[1 + CLASS_32];
    if (top == heap->end[1 + CLASS_32]) { /* full, or no heap */
        array_stack_flush(heap, CLASS_32, block);
        return;
    }
    count_checked(&heap->count[CLASS_32].push);
    *top = block;
    hs_stack_pushed(&heap->top[1 + CLASS_32]);
}

/* 48-byte blocks for requests of 33 to 48 bytes: at most 15 bytes unused inside, 341 blocks a slab.
 * Array stack: LIFO, written and read by the heap's thread alone; the freed block is not touched.
 * Capacity 64, refill 32, flush 32.
 * Hit path: alloc 5 loads, 1 store, 1 branch; free 5 loads, 2 stores, 1 branch. */
static void *alloc_48(void)
{
    struct heap *heap = hs_self;
    void *block = heap->top[1 + CLASS_48][-1];
    if (block == NULL) /* empty, or no heap */
        return array_stack_refill(heap, CLASS_48);
    count_checked(&heap->count[CLASS_48].hit0);
    return hs_stack_popped(&heap->top[1 + CLASS_48], block);
}

static void free_48(void *block)
{
    struct heap *heap = hs_self;
    void **top = heap->top[1 + CLASS_48];
    if (top == heap->end[1 + CLASS_48]) { /* full, or no heap */
        array_stack_flush(heap, CLASS_48, block);
        return;
    }
    count_checked(&heap->count[CLASS_48].push);
    *top = block;
    hs_stack_pushed(&heap->top[1 + CLASS_48]);
}

/* 64-byte blocks for requests of 49 to 64 bytes: at most 15 bytes unused inside, 256 blocks a slab.
 * Array stack: LIFO, written and read by the heap's thread alone; the freed block is not touched.
 * Capacity 64, refill 32, flush 32.
 * Hit path: alloc 5 loads, 1 store, 1 branch; free 5 loads, 2 stores, 1 branch. */
static void *alloc_64(void)
{
    struct heap *heap = hs_self;
    void *block = heap->top[1 + CLASS_64][-1];
    if (block == NULL) /* empty, or no heap */
        return array_stack_refill(heap, CLASS_64);
    count_checked(&heap->count[CLASS_64].hit0);
    return hs_stack_popped(&heap->top[1 + CLASS_64], block);
}

static void free_64(void *block)
{
    struct heap *heap = hs_self;
    void **top = heap->top[1 + CLASS_64];
    if (top == heap->end[1 + CLASS_64]) { /* full, or no heap */
        array_stack_flush(heap, CLASS_64, block);
        return;
    }
    count_checked(&heap->count[CLASS_64].push);
    *top = block;
    hs_stack_pushed(&heap->top[1 + CLASS_64]);
}

/* 80-byte blocks for requests of 65 to 80 bytes: at most 15 bytes unused inside, 204 blocks a slab.
 * Array stack: LIFO, written and read by the heap's thread alone; the freed block is not touched.
 * Capacity 64, refill 32, flush 32.
 * Hit path: alloc 5 loads, 1 store, 1 branch; free 5 loads, 2 stores, 1 branch. */
static void *alloc_80(void)
{
    struct heap *heap = hs_self;
    void *block = heap->top[1 + CLASS_80][-1];
    if (block == NULL) /* empty, or no heap */
        return array_stack_refill(heap, CLASS_80);
    count_checked(&heap->count[CLASS_80].hit0);
    return hs_stack_popped(&heap->top[1 + CLASS_80], block);
}

static void free_80(void *block)
{
    struct heap *heap = hs_self;
    void **top = heap->top[1 + CLASS_80];
    if (top == heap->end[1 + CLASS_80]) { /* full, or no heap */
        array_stack_flush(heap, CLASS_80, block);
        return;
    }
    count_checked(&heap->count[CLASS_80].push);
    *top = block;
    hs_stack_pushed(&heap->top[1 + CLASS_80]);
}

/* 96-byte blocks for requests of 81 to 96 bytes: at most 15 bytes unused inside, 170 blocks a slab.
 * Array stack: LIFO, written and read by the heap's thread alone; the freed block is not touched.
 * Capacity 64, refill 32, flush 32.
 * Hit path: alloc 5 loads, 1 store, 1 branch; free 5 loads, 2 stores, 1 branch. */
static void *alloc_96(void)
{
    struct heap *heap = hs_self;
    void *block = heap->top[1 + CLASS_96][-1];
    if (block == NULL) /* empty, or no heap */
        return array_stack_refill(heap, CLASS_96);
    count_checked(&heap->count[CLASS_96].hit0);
    return hs_stack_popped(&heap->top[1 + CLASS_96], block);
}

static void free_96(void *block)
{
    struct heap *heap = hs_self;
    void **top = heap->top[1 + CLASS_96];
    if (top == heap->end[1 + CLASS_96]) { /* full, or no heap */
        array_stack_flush(heap, CLASS_96, block);
        return;
    }
    count_checked(&heap->count[CLASS_96].push);
    *top = block;
    hs_stack_pushed(&heap->top[1 + CLASS_96]);
}

/* 112-byte blocks for requests of 97 to 112 bytes: at most 15 bytes unused inside, 146 blocks a slab.
 * Array stack: LIFO, written and read by the heap's thread alone; the freed block is not touched.
 * Capacity 64, refill 32, flush 32.
 * Hit path: alloc 5 loads, 1 store, 1 branch; free 5 loads, 2 stores, 1 branch. */
static void *alloc_112(void)
{
    struct heap *heap = hs_self;
    void *block = heap->top[1 + CLASS_112][-1];
    if (block == NULL) /* empty, or no heap */
        return array_stack_refill(heap, CLASS_112);
    count_checked(&heap->count[CLASS_112].hit0);
    return hs_stack_popped(&heap->top[1 + CLASS_112], block);
}

static void free_112(void *block)
{
    struct heap *heap = hs_self;
    void **top = heap->top[1 + CLASS_112];
    if (top == heap->end[1 + CLASS_112]) { /* full, or no heap */
        array_stack_flush(heap, CLASS_112, block);
        return;
    }
    count_checked(&heap->count[CLASS_112].push);
    *top = block;
    hs_stack_pushed(&heap->top[1 + CLASS_112]);
}

/* 128-byte blocks for requests of 113 to 128 bytes: at most 15 bytes unused inside, 128 blocks a slab.
 * Array stack: LIFO, written and read by the heap's thread alone; the freed block is not touched.
 * Capacity 64, refill 32, flush 32.
 * Hit path: alloc 5 loads, 1 store, 1 branch; free 5 loads, 2 stores, 1 branch. */
static void *alloc_128(void)
{
    struct heap *heap = hs_self;
    void *block = heap->top[1 + CLASS_128][-1];
    if (block == NULL) /* empty, or no heap */
        return array_stack_refill(heap, CLASS_128);
    count_checked(&heap->count[CLASS_128].hit0);
    return hs_stack_popped(&heap->top[1 + CLASS_128], block);
}

static void free_128(void *block)
{
    struct heap *heap = hs_self;
    void **top = heap->top[1 + CLASS_128];
    if (top == heap->end[1 + CLASS_128]) { /* full, or no heap */
        array_stack_flush(heap, CLASS_128, block);
        return;
    }
    count_checked(&heap->count[CLASS_128].push);
    *top = block;
    hs_stack_pushed(&heap->top[1 + CLASS_128]);
}

/* 160-byte blocks for requests of 129 to 160 bytes: at most 31 bytes unused inside, 102 blocks a slab.
 * Array stack: LIFO, written and read by the heap's thread alone; the freed block is not touched.
 * Capacity 64, refill 25, flush 32.
 * Hit path: alloc 5 loads, 1 store, 1 branch; free 5 loads, 2 stores, 1 branch. */
static void *alloc_160(void)
{
    struct heap *heap = hs_self;
    void *block = heap->top[1 + CLASS_160][-1];
    if (block == NULL) /* empty, or no heap */
        return array_stack_refill(heap, CLASS_160);
    count_checked(&heap->count[CLASS_160].hit0);
    return hs_stack_popped(&heap->top[1 + CLASS_160], block);
}

static void free_160(void *block)
{
    struct heap *heap = hs_self;
    void **top = heap->top[1 + CLASS_160];
    if (top == heap->end[1 + CLASS_160]) { /* full, or no heap */
        array_stack_flush(heap, CLASS_160, block);
        return;
    }
    count_checked(&heap->count[CLASS_160].push);
    *top = block;
    hs_stack_pushed(&heap->top[1 + CLASS_160]);
}

/* 192-byte blocks for requests of 161 to 192 bytes: at most 31 bytes unused inside, 85 blocks a slab.
 * Array stack: LIFO, written and read by the heap's thread alone; the freed block is not touched.
 * Capacity 64, refill 21, flush 32.
 * Hit path: alloc 5 loads, 1 store, 1 branch; free 5 loads, 2 stores, 1 branch. */
static void *alloc_192(void)
{
    struct heap *heap = hs_self;
    void *block = heap->top[1 + CLASS_192][-1];
    if (block == NULL) /* empty, or no heap */
        return array_stack_refill(heap, CLASS_192);
    count_checked(&heap->count[CLASS_192].hit0);
    return hs_stack_popped(&heap->top[1 + CLASS_192], block);
}

static void free_192(void *block)
{
    struct heap *heap = hs_self;
    void **top = heap->top[1 + CLASS_192];
    if (top == heap->end[1 + CLASS_192]) { /* full, or no heap */
        array_stack_flush(heap, CLASS_192, block);
        return;
    }
    count_checked(&heap->count[CLASS_192].push);
    *top = block;
    hs_stack_pushed(&heap->top[1 + CLASS_192]);
}

/* 224-byte blocks for requests of 193 to 224 bytes: at most 31 bytes unused inside, 73 blocks a slab.
 * Array stack: LIFO, written and read by the heap's thread alone; the freed block is not touched.
 * Capacity 64, refill 18, flush 32.
 * Hit path: alloc 5 loads, 1 store, 1 branch; free 5 loads, 2 stores, 1 branch. */
static void *alloc_224(void)
{
    struct heap *heap = hs_self;
    void *block = heap->top[1 + CLASS_224][-1];
    if (block == NULL) /* empty, or no heap */
        return array_stack_refill(heap, CLASS_224);
    count_checked(&heap->count[CLASS_224].hit0);
    return hs_stack_popped(&heap->top[1 + CLASS_224], block);
}

static void free_224(void *block)
{
    struct heap *heap = hs_self;
    void **top = heap->top[1 + CLASS_224];
    if (top == heap->end[1 + CLASS_224]) { /* full, or no heap */
        array_stack_flush(heap, CLASS_224, block);
        return;
    }
    count_checked(&heap->count[CLASS_224].push);
    *top = block;
    hs_stack_pushed(&heap->top[1 + CLASS_224]);
}

/* 256-byte blocks for requests of 225 to 256 bytes: at most 31 bytes unused inside, 64 blocks a slab.
 * Array stack: LIFO, written and read by the heap's thread alone; the freed block is not touched.
 * Capacity 64, refill 16, flush 32.
 * Hit path: alloc 5 loads, 1 store, 1 branch; free 5 loads, 2 stores, 1 branch. */
static void *alloc_256(void)
{
    struct heap *heap = hs_self;
    void *block = heap->top[1 + CLASS_256][-1];
    if (block == NULL) /* empty, or no heap */
        return array_stack_refill(heap, CLASS_256);
    count_checked(&heap->count[CLASS_256].hit0);
    return hs_stack_popped(&heap->top[1 + CLASS_256], block);
}

static void free_256(void *block)
{
    struct heap *heap = hs_self;
    void **top = heap->top[1 + CLASS_256];
    if (top == heap->end[1 + CLASS_256]) { /* full, or no heap */
        array_stack_flush(heap, CLASS_256, block);
        return;
    }
    count_checked(&heap->count[CLASS_256].push);
    *top = block;
    hs_stack_pushed(&heap->top[1 + CLASS_256]);
}

/* 320-byte blocks for requests of 257 to 320 bytes: at most 63 bytes unused inside, 51 blocks a slab.
 * Array stack: LIFO, written and read by the heap's thread alone; the freed block is not touched.
 * Capacity 51, refill 12, flush 25.
 * Hit path: alloc 5 loads, 1 store, 1 branch; free 5 loads, 2 stores, 1 branch. */
static void *alloc_320(void)
{
    struct heap *heap = hs_self;
    void *block = heap->top[1 + CLASS_320][-1];
    if (block == NULL) /* empty, or no heap */
        return array_stack_refill(heap, CLASS_320);
    count_checked(&heap->count[CLASS_320].hit0);
    return hs_stack_popped(&heap->top[1 + CLASS_320], block);
}

static void free_320(void *block)
{
    struct heap *heap = hs_self;
    void **top = heap->top[1 + CLASS_320];
    if (top == heap->end[1 + CLASS_320]) { /* full, or no heap */
        array_stack_flush(heap, CLASS_320, block);
        return;
    }
    count_checked(&heap->count[CLASS_320].push);
    *top = block;
    hs_stack_pushed(&heap->top[1 + CLASS_320]);
}

/* 384-byte blocks for requests of 321 to 384 bytes: at most 63 bytes unused inside, 42 blocks a slab.
 * Array stack: LIFO, written and read by the heap's thread alone; the freed block is not touched.
 * Capacity 42, refill 10, flush 21.
 * Hit path: alloc 5 loads, 1 store, 1 branch; free 5 loads, 2 stores, 1 branch. */
static void *alloc_384(void)
{
    struct heap *heap = hs_self;
    void *block = heap->top[1 + CLASS_384][-1];
    if (block == NULL) /* empty, or no heap */
        return array_stack_refill(heap, CLASS_384);
    count_checked(&heap->count[CLASS_384].hit0);
    return hs_stack_popped(&heap->top[1 + CLASS_384], block);
}

static void free_384(void *block)
{
    struct heap *heap = hs_self;
    void **top = heap->top[1 + CLASS_384];
    if (top == heap->end[1 + CLASS_384]) { /* full, or no heap */
        array_stack_flush(heap, CLASS_384, block);
        return;
    }
    count_checked(&heap->count[CLASS_384].push);
    *top = block;
    hs_stack_pushed(&heap->top[1 + CLASS_384]);
}

/* 448-byte blocks for requests of 385 to 448 bytes: at most 63 bytes unused inside, 36 blocks a slab.
 * Array stack: LIFO, written and read by the heap's thread alone; the freed block is not touched.
 * Capacity 36, refill 9, flush 18.
 * Hit path: alloc 5 loads, 1 store, 1 branch; free 5 loads, 2 stores, 1 branch. */
static void *alloc_448(void)
{
    struct heap *heap = hs_self;
    void *block = heap->top[1 + CLASS_448][-1];
    if (block == NULL) /* empty, or no heap */
        return array_stack_refill(heap, CLASS_448);
    count_checked(&heap->count[CLASS_448].hit0);
    return hs_stack_popped(&heap->top[1 + CLASS_448], block);
}

static void free_448(void *block)
{
    struct heap *heap = hs_self;
    void **top = heap->top[1 + CLASS_448];
    if (top == heap->end[1 + CLASS_448]) { /* full, or no heap */
        array_stack_flush(heap, CLASS_448, block);
        return;
    }
    count_checked(&heap->count[CLASS_448].push);
    *top = block;
    hs_stack_pushed(&heap->top[1 + CLASS_448]);
}

/* 512-byte blocks for requests of 449 to 512 bytes: at most 63 bytes unused inside, 32 blocks a slab.
 * Array stack: LIFO, written and read by the heap's thread alone; the freed block is not touched.
 * Capacity 32, refill 8, flush 16.
 * Hit path: alloc 5 loads, 1 store, 1 branch; free 5 loads, 2 stores, 1 branch. */
static void *alloc_512(void)
{
    struct heap *heap = hs_self;
    void *block = heap->top[1 + CLASS_512][-1];
    if (block == NULL) /* empty, or no heap */
        return array_stack_refill(heap, CLASS_512);
    count_checked(&heap->count[CLASS_512].hit0);
    return hs_stack_popped(&heap->top[1 + CLASS_512], block);
}

static void free_512(void *block)
{
    struct heap *heap = hs_self;
    void **top = heap->top[1 + CLASS_512];
    if (top == heap->end[1 + CLASS_512]) { /* full, or no heap */
        array_stack_flush(heap, CLASS_512, block);
        return;
    }
    count_checked(&heap->count[CLASS_512].push);
    *top = block;
    hs_stack_pushed(&heap->top[1 + CLASS_512]);
}

/* 640-byte blocks for requests of 513 to 640 bytes: at most 127 bytes unused inside, 25 blocks a slab.
 * Array stack: LIFO, written and read by the heap's thread alone; the freed block is not touched.
 * Capacity 25, refill 6, flush 12.
 * Hit path: alloc 5 loads, 1 store, 1 branch; free 5 loads, 2 stores, 1 branch. */
static void *alloc_640(void)
{
    struct heap *heap = hs_self;
    void *block = heap->top[1 + CLASS_640][-1];
    if (block == NULL) /* empty, or no heap */
        return array_stack_refill(heap, CLASS_640);
    count_checked(&heap->count[CLASS_640].hit0);
    return hs_stack_popped(&heap->top[1 + CLASS_640], block);
}

static void free_640(void *block)
{
    struct heap *heap = hs_self;
    void **top = heap->top[1 + CLASS_640];
    if (top == heap->end[1 + CLASS_640]) { /* full, or no heap */
        array_stack_flush(heap, CLASS_640, block);
        return;
    }
    count_checked(&heap->count[CLASS_640].push);
    *top = block;
    hs_stack_pushed(&heap->top[1 + CLASS_640]);
}

/* 768-byte blocks for requests of 641 to 768 bytes: at most 127 bytes unused inside, 21 blocks a slab.
 * Array stack: LIFO, written and read by the heap's thread alone; the freed block is not touched.
 * Capacity 21, refill 5, flush 10.
 * Hit path: alloc 5 loads, 1 store, 1 branch; free 5 loads, 2 stores, 1 branch. */
static void *alloc_768(void)
{
    struct heap *heap = hs_self;
    void *block = heap->top[1 + CLASS_768][-1];
    if (block == NULL) /* empty, or no heap */
        return array_stack_refill(heap, CLASS_768);
    count_checked(&heap->count[CLASS_768].hit0);
    return hs_stack_popped(&heap->top[1 + CLASS_768], block);
}

static void free_768(void *block)
{
    struct heap *heap = hs_self;
    void **top = heap->top[1 + CLASS_768];
    if (top == heap->end[1 + CLASS_768]) { /* full, or no heap */
        array_stack_flush(heap, CLASS_768, block);
        return;
    }
    count_checked(&heap->count[CLASS_768].push);
    *top = block;
    hs_stack_pushed(&heap->top[1 + CLASS_768]);
}

/* 896-byte blocks for requests of 769 to 896 bytes: at most 127 bytes unused inside, 18 blocks a slab.
 * Array stack: LIFO, written and read by the heap's thread alone; the freed block is not touched.
 * Capacity 18, refill 4, flush 9.
 * Hit path: alloc 5 loads, 1 store, 1 branch; free 5 loads, 2 stores, 1 branch. */
static void *alloc_896(void)
{
    struct heap *heap = hs_self;
    void *block = heap->top[1 + CLASS_896][-1];
    if (block == NULL) /* empty, or no heap */
        return array_stack_refill(heap, CLASS_896);
    count_checked(&heap->count[CLASS_896].hit0);
    return hs_stack_popped(&heap->top[1 + CLASS_896], block);
}

static void free_896(void *block)
{
    struct heap *heap = hs_self;
    void **top = heap->top[1 + CLASS_896];
    if (top == heap->end[1 + CLASS_896]) { /* full, or no heap */
        array_stack_flush(heap, CLASS_896, block);
        return;
    }
    count_checked(&heap->count[CLASS_896].push);
    *top = block;
    hs_stack_pushed(&heap->top[1 + CLASS_896]);
}

/* 1024-byte blocks for requests of 897 to 1024 bytes: at most 127 bytes unused inside, 16 blocks a slab.
 * Array stack: LIFO, written and read by the heap's thread alone; the freed block is not touched.
 * Capacity 16, refill 4, flush 8.
 * Hit path: alloc 5 loads, 1 store, 1 branch; free 5 loads, 2 stores, 1 branch. */
static void *alloc_1024(void)
{
    struct heap *heap = hs_self;
    void *block = heap->top[1 + CLASS_1024][-1];
    if (block == NULL) /* empty, or no heap */
        return array_stack_refill(heap, CLASS_1024);
    count_checked(&heap->count[CLASS_1024].hit0);
    return hs_stack_popped(&heap->top[1 + CLASS_1024], block);
}

static void free_1024(void *block)
{
    struct heap *heap = hs_self;
    void **top = heap->top[1 + CLASS_1024];
    if (top == heap->end[1 + CLASS_1024]) { /* full, or no heap */
        array_stack_flush(heap, CLASS_1024, block);
        return;
    }
    count_checked(&heap->count[CLASS_1024].push);
    *top = block;
    hs_stack_pushed(&heap->top[1 + CLASS_1024]);
}

/* 1280-byte blocks for requests of 1025 to 1280 bytes: at most 255 bytes unused inside, 12 blocks a slab.
 * Array stack: LIFO, written and read by the heap's thread alone; the freed block is not touched.
 * Capacity 12, refill 3, flush 6.
 * Hit path: alloc 5 loads, 1 store, 1 branch; free 5 loads, 2 stores, 1 branch. */
static void *alloc_1280(void)
{
    struct heap *heap = hs_self;
    void *block = heap->top[1 + CLASS_1280][-1];
    if (block == NULL) /* empty, or no heap */
        return array_stack_refill(heap, CLASS_1280);
    count_checked(&heap->count[CLASS_1280].hit0);
    return hs_stack_popped(&heap->top[1 + CLASS_1280], block);
}

static void free_1280(void *block)
{
    struct heap *heap = hs_self;
    void **top = heap->top[1 + CLASS_1280];
    if (top == heap->end[1 + CLASS_1280]) { /* full, or no heap */
        array_stack_flush(heap, CLASS_1280, block);
        return;
    }
    count_checked(&heap->count[CLASS_1280].push);
    *top = block;
    hs_stack_pushed(&heap->top[1 + CLASS_1280]);
}

/* 1536-byte blocks for requests of 1281 to 1536 bytes: at most 255 bytes unused inside, 10 blocks a slab.
 * Array stack: LIFO, written and read by the heap's thread alone; the freed block is not touched.
 * Capacity 10, refill 2, flush 5.
 * Hit path: alloc 5 loads, 1 store, 1 branch; free 5 loads, 2 stores, 1 branch. */
static void *alloc_1536(void)
{
    struct heap *heap = hs_self;
    void *block = heap->top[1 + CLASS_1536][-1];
    if (block == NULL) /* empty, or no heap */
        return array_stack_refill(heap, CLASS_1536);
    count_checked(&heap->count[CLASS_1536].hit0);
    return hs_stack_popped(&heap->top[1 + CLASS_1536], block);
}

static void free_1536(void *block)
{
    struct heap *heap = hs_self;
    void **top = heap->top[1 + CLASS_1536];
    if (top == heap->end[1 + CLASS_1536]) { /* full, or no heap */
        array_stack_flush(heap, CLASS_1536, block);
        return;
    }
    count_checked(&heap->count[CLASS_1536].push);
    *top = block;
    hs_stack_pushed(&heap->top[1 + CLASS_1536]);
}

/* 1792-byte blocks for requests of 1537 to 1792 bytes: at most 255 bytes unused inside, 9 blocks a slab.
 * Array stack: LIFO, written and read by the heap's thread alone; the freed block is not touched.
 * Capacity 9, refill 2, flush 4.
 * Hit path: alloc 5 loads, 1 store, 1 branch; free 5 loads, 2 stores, 1 branch. */
static void *alloc_1792(void)
{
    struct heap *heap = hs_self;
    void *block = heap->top[1 + CLASS_1792][-1];
    if (block == NULL) /* empty, or no heap */
        return array_stack_refill(heap, CLASS_1792);
    count_checked(&heap->count[CLASS_1792].hit0);
    return hs_stack_popped(&heap->top[1 + CLASS_1792], block);
}

static void free_1792(void *block)
{
    struct heap *heap = hs_self;
    void **top = heap->top[1 + CLASS_1792];
    if (top == heap->end[1 + CLASS_1792]) { /* full, or no heap */
        array_stack_flush(heap, CLASS_1792, block);
        return;
    }
    count_checked(&heap->count[CLASS_1792].push);
    *top = block;
    hs_stack_pushed(&heap->top[1 + CLASS_1792]);
}

/* 2048-byte blocks for requests of 1793 to 2048 bytes: at most 255 bytes unused inside, 8 blocks a slab.
 * Array stack: LIFO, written and read by the heap's thread alone; the freed block is not touched.
 * Capacity 8, refill 2, flush 4.
 * Hit path: alloc 5 loads, 1 store, 1 branch; free 5 loads, 2 stores, 1 branch. */
static void *alloc_2048(void)
{
    struct heap *heap = hs_self;
    void *block = heap->top[1 + CLASS_2048][-1];
    if (block == NULL) /* empty, or no heap */
        return array_stack_refill(heap, CLASS_2048);
    count_checked(&heap->count[CLASS_2048].hit0);
    return hs_stack_popped(&heap->top[1 + CLASS_2048], block);
}

static void free_2048(void *block)
{
    struct heap *heap = hs_self;
    void **top = heap->top[1 + CLASS_2048];
    if (top == heap->end[1 + CLASS_2048]) { /* full, or no heap */
        array_stack_flush(heap, CLASS_2048, block);
        return;
    }
    count_checked(&heap->count[CLASS_2048].push);
    *top = block;
    hs_stack_pushed(&heap->top[1 + CLASS_2048]);
}

/* 2720-byte blocks for requests of 2049 to 2720 bytes: at most 671 bytes unused inside, 6 blocks a slab.
 * Array stack: LIFO, written and read by the heap's thread alone; the freed block is not touched.
 * Capacity 6, refill 1, flush 3.
 * Hit path: alloc 5 loads, 1 store, 1 branch; free 5 loads, 2 stores, 1 branch. */
static void *alloc_2720(void)
{
    struct heap *heap = hs_self;
    void *block = heap->top[1 + CLASS_2720][-1];
    if (block == NULL) /* empty, or no heap */
        return array_stack_refill(heap, CLASS_2720);
    count_checked(&heap->count[CLASS_2720].hit0);
    return hs_stack_popped(&heap->top[1 + CLASS_2720], block);
}

static void free_2720(void *block)
{
    struct heap *heap = hs_self;
    void **top = heap->top[1 + CLASS_2720];
    if (top == heap->end[1 + CLASS_2720]) { /* full, or no heap */
        array_stack_flush(heap, CLASS_2720, block);
        return;
    }
    count_checked(&heap->count[CLASS_2720].push);
    *top = block;
    hs_stack_pushed(&heap->top[1 + CLASS_2720]);
}

/* 3264-byte blocks for requests of 2721 to 3264 bytes: at most 543 bytes unused inside, 5 blocks a slab.
 * Array stack: LIFO, written and read by the heap's thread alone; the freed block is not touched.
 * Capacity 5, refill 1, flush 2.
 * Hit path: alloc 5 loads, 1 store, 1 branch; free 5 loads, 2 stores, 1 branch. */
static void *alloc_3264(void)
{
    struct heap *heap = hs_self;
    void *block = heap->top[1 + CLASS_3264][-1];
    if (block == NULL) /* empty, or no heap */
        return array_stack_refill(heap, CLASS_3264);
    count_checked(&heap->count[CLASS_3264].hit0);
    return hs_stack_popped(&heap->top[1 + CLASS_3264], block);
}

static void free_3264(void *block)
{
    struct heap *heap = hs_self;
    void **top = heap->top[1 + CLASS_3264];
    if (top == heap->end[1 + CLASS_3264]) { /* full, or no heap */
        array_stack_flush(heap, CLASS_3264, block);
        return;
    }
    count_checked(&heap->count[CLASS_3264].push);
    *top = block;
    hs_stack_pushed(&heap->top[1 + CLASS_3264]);
}

/* 4096-byte blocks for requests of 3265 to 4096 bytes: at most 831 bytes unused inside, 4 blocks a slab.
 * Array stack: LIFO, written and read by the heap's thread alone; the freed block is not touched.
 * Capacity 4, refill 1, flush 2.
 * Hit path: alloc 5 loads, 1 store, 1 branch; free 5 loads, 2 stores, 1 branch. */
static void *alloc_4096(void)
{
    struct heap *heap = hs_self;
    void *block = heap->top[1 + CLASS_4096][-1];
    if (block == NULL) /* empty, or no heap */
        return array_stack_refill(heap, CLASS_4096);
    count_checked(&heap->count[CLASS_4096].hit0);
    return hs_stack_popped(&heap->top[1 + CLASS_4096], block);
}

static void free_4096(void *block)
{
    struct heap *heap = hs_self;
    void **top = heap->top[1 + CLASS_4096];
    if (top == heap->end[1 + CLASS_4096]) { /* full, or no heap */
        array_stack_flush(heap, CLASS_4096, block);
        return;
    }
    count_checked(&heap->count[CLASS_4096].push);
    *top = block;
    hs_stack_pushed(&heap->top[1 + CLASS_4096]);
}

/* 5456-byte blocks for requests of 4097 to 5456 bytes: at most 1359 bytes unused inside, 3 blocks a slab.
 * Array stack: LIFO, written and read by the heap's thread alone; the freed block is not touched.
 * Capacity 3, refill 1, flush 1.
 * Hit path: alloc 5 loads, 1 store, 1 branch; free 5 loads, 2 stores, 1 branch. */
static void *alloc_5456(void)
{
    struct heap *heap = hs_self;
    void *block = heap->top[1 + CLASS_5456][-1];
    if (block == NULL) /* empty, or no heap */
        return array_stack_refill(heap, CLASS_5456);
    count_checked(&heap->count[CLASS_5456].hit0);
    return hs_stack_popped(&heap->top[1 + CLASS_5456], block);
}

static void free_5456(void *block)
{
    struct heap *heap = hs_self;
    void **top = heap->top[1 + CLASS_5456];
    if (top == heap->end[1 + CLASS_5456]) { /* full, or no heap */
        array_stack_flush(heap, CLASS_5456, block);
        return;
    }
    count_checked(&heap->count[CLASS_5456].push);
    *top = block;
    hs_stack_pushed(&heap->top[1 + CLASS_5456]);
}

/* 8192-byte blocks for requests of 5457 to 8192 bytes: at most 2735 bytes unused inside, 2 blocks a slab.
 * Array stack: LIFO, written and read by the heap's thread alone; the freed block is not touched.
 * Capacity 2, refill 1, flush 1.
 * Hit path: alloc 5 loads, 1 store, 1 branch; free 5 loads, 2 stores, 1 branch. */
static void *alloc_8192(void)
{
    struct heap *heap = hs_self;
    void *block = heap->top[1 + CLASS_8192][-1];
    if (block == NULL) /* empty, or no heap */
        return array_stack_refill(heap, CLASS_8192);
    count_checked(&heap->count[CLASS_8192].hit0);
    return hs_stack_popped(&heap->top[1 + CLASS_8192], block);
}

static void free_8192(void *block)
{
    struct heap *heap = hs_self;
    void **top = heap->top[1 + CLASS_8192];
    if (top == heap->end[1 + CLASS_8192]) { /* full, or no heap */
        array_stack_flush(heap, CLASS_8192, block);
        return;
    }
    count_checked(&heap->count[CLASS_8192].push);
    *top = block;
    hs_stack_pushed(&heap->top[1 + CLASS_8192]);
}

/* A pointer into a slab that has no class: no block of ours. */
static void free_unknown(void *block)
{
    hs_free_large(block);
}

void *(*const hs_alloc_of[CLASS_COUNT])(void) = {
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
    alloc_2720,
    alloc_3264,
    alloc_4096,
    alloc_5456,
    alloc_8192,
};

void (*const hs_free_of[1 + CLASS_COUNT])(void *block) = {
    free_unknown,
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
    free_2720,
    free_3264,
    free_4096,
    free_5456,
    free_8192,
};

static __attribute__((noinline)) void *malloc_miss(size_t bytes)
{
    return hs_alloc_of[size_to_class(bytes)]();
}

static inline void *pop(struct heap *heap, size_t row, size_t bytes)
{
    void *block = heap->top[row][-1];
    if (block == NULL) /* empty, or another front, or no heap */
        return malloc_miss(bytes);
    count_checked(&heap->count[row - 1].hit0);
    return hs_stack_popped(&heap->top[row], block);
}

static __attribute__((noinline)) void free_miss(size_t row, void *block)
{
    hs_free_of[row](block);
}

static inline void push(size_t row, void *block)
{
    struct heap *heap = hs_self;
    void **top = heap->top[row];
    if (top == heap->end[row]) { /* full, or another front, or no class, or no heap */
        free_miss(row, block);
        return;
    }
    count_checked(&heap->count[row - 1].push);
    *top = block;
    hs_stack_pushed(&heap->top[row]);
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

/* Hit path: 10 loads, 2 stores, 3 branches. */
void free(void *block)
{
    if (!in_slab_span(block)) {
        hs_free_large(block);
        return;
    }
    size_t slab = ((uintptr_t)block - hs_span) >> SLAB_SHIFT;
    size_t row = hs_slab_class[slab];
    struct heap *owner = hs_slabs[slab].owner;
    if (owner != hs_self) {
        remote_free(owner, (unsigned)row - 1, block);
        return;
    }
    push(row, block);
}
