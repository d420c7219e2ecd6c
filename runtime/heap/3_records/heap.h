/* The heap of a thread: its structures, and the tables that the emitted C has of it. Terms and rules: docs/machine.md. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "2_system/counters.h"
#include "plan.h"

#include LOOKUP_ROW

struct block;
struct heap;
struct slab;

/* Numbers of one size class; a row of the emitted table hs_class. */
struct class_plan {
    uint32_t usable, stride, first, blocks;
    uint64_t reciprocal; /* (x * reciprocal) >> RECIPROCAL_SHIFT == x / stride inside a slab */
    uint32_t capacity, list_capacity, refill, flush, spill, promote;
    uint32_t slot;  /* where the class's level 0 begins in heap.slot; the slot before it stays NULL */
    uint32_t stack; /* the capacity where level 0 is an array stack, else 0 */
    uint32_t transfer, transfer_slot; /* of the transfer cache; 0: none for this class */
    uint64_t drain; /* the number of what hs_drain_front() calls; 0: the front keeps nothing */
};

/* What slab choice knows of one class: under the store's lock, or the owner's alone. */
struct class_slabs {
    struct slab *hot;
    struct slab *head;
};

/* Empty slabs, LIFO: the room pool says how. All zero: empty. */
union pool {
    struct slab *top;
    uintptr_t word;
};

/* The room pool says how its slabs are taken. All zero: none are left. */
struct superslab {
    size_t next; /* offset of the next slab to hand out */
    size_t end;
};

/* Where the classes of one pool get their slabs. */
struct vacancy {
    union pool pool;
    struct superslab superslab;
};

/* One class's front, but for array stacks. held <= capacity, listed <= list_capacity; in hs_no_heap held is above the
 * capacity, so that both the pop and the push of a thread without a heap leave the hit path. */
struct front {
    uint32_t held;      /* blocks in level 0 */
    uint32_t head;      /* a ring's oldest */
    uint32_t listed;    /* blocks in level 1 */
    uint32_t capacity;  /* of level 0, where a heap learns it */
    struct block *list; /* the level that is a list, LIFO */
};

/* Small blocks that the heap's thread freed last: a ring, FIFO, of that thread alone. held <= QUARANTINE. */
struct quarantine {
    uint32_t held;
    uint32_t oldest;
    void *block[QUARANTINE_SLOTS];
};

#include "rooms.h"

/* What one thread owns. Only that thread touches it, but for `remote` and `next`.
 *
 * Array stacks go by row, 1 + class; row 0 is of no class. LIFO: top[row] is the slot that the next freed block goes to, the
 * block below it is handed out next. Below the oldest lies a slot that is always NULL: the stack is empty then. It is full
 * where top == end. slot <= top <= end for an open stack; rows without one are always empty and always full.
 *
 * So are stacks that are not open: those that had no block yet. Their top and end lie above slot[0], which stays NULL. If malloc
 * looked for a block in their own slots, it would read a page before anything is written to it. The system maps a page of zeros
 * for that, and another page at the first write: two faults, and an interrupt of each core on which the program has a thread. */
struct heap {
    void **top[1 + CLASS_COUNT];
    void **end[1 + CLASS_COUNT];
    uintptr_t span;    /* hs_span and hs_span_bytes for heapsmith.h; 0 in hs_no_heap */
    size_t span_bytes;
    uint8_t row_of[DIRECT_LIMIT + 1]; /* by a request's bytes the row of its class; 0: the site tells it; all 0 in hs_no_heap */
    struct front front[FRONT_RECORDS]; /* by class, or of none */
    struct heap_rooms rooms; /* what the design's policies keep here */
    struct block *remote; /* frees by other threads: any thread pushes, the owner takes all */
    struct heap *next;    /* LIFO of abandoned heaps, under the pool lock */
    struct heap *earlier; /* all heaps ever created, newest first; written before the heap is published, under the pool lock */
    struct class_slabs store[STORE_RECORDS]; /* by class the slabs that this heap owns, where heaps own slabs */
    struct class_count count[CLASS_COUNT];
    struct heap_caches caches; /* the same, of slow paths alone */
    struct quarantine quarantine;
    void *slot[]; /* SLOT_COUNT of them: level 0 of all classes, one after the other; hs_no_heap has none */
};

extern const struct class_plan hs_class[CLASS_COUNT];
extern struct heap hs_no_heap; /* of every thread that has none: always empty and always full */
extern struct heap *hs_abandoned; /* of threads that ended: a LIFO, under the pool lock */
extern struct heap *hs_newest_heap; /* every heap ever created, under the pool lock */
extern __thread struct heap *hs_self;
void hs_become(struct heap *heap); /* hs_self, and what heapsmith.h reads (emitted where threads have heaps) */

/* Emitted. */
void hs_drain_front(struct heap *heap, unsigned class);
void hs_free_small(void *block); /* into the thread's own front, or to the owner */
extern const char hs_design[]; /* name and hash */

/* In the row of all heaps ever, hs_no_heap the first; NULL: no more. Without a lock. */
static inline struct heap *hs_heap_after(const struct heap *heap)
{
    return heap == &hs_no_heap ? __atomic_load_n(&hs_newest_heap, __ATOMIC_ACQUIRE) : heap->earlier;
}

#include SAMPLING_PARKED
#include LEARNER_CAPACITY
#include OPENING_SLOTS

/* The blocks of a stack. Reads its top once: another thread may ask while the stack moves. */
static inline uint32_t stack_held(struct heap *heap, unsigned class)
{
    void **top = hs_stack_top(heap, class), **slots = stack_slots_at(heap, class, top);
    return top > slots ? (uint32_t)(top - slots) : 0;
}

static inline void stack_hold(struct heap *heap, unsigned class, uint32_t blocks)
{
    __atomic_store_n(&heap->top[1 + class], stack_slots(heap, class) + blocks, __ATOMIC_RELAXED);
}

static inline bool stack_is_open(struct heap *heap, unsigned class)
{
    return heap->top[1 + class] >= stack_slots(heap, class);
}

/* Its blocks lie in these slots from now on. */
static inline void stack_open_at(struct heap *heap, unsigned class, void **slots, uint32_t blocks)
{
    __atomic_store_n(&heap->top[1 + class], slots + blocks, __ATOMIC_RELAXED);
    heap->end[1 + class] = slots + stack_room(heap, class, slots);
}

/* The stack is empty then. */
static inline void stack_open(struct heap *heap, unsigned class)
{
    stack_open_at(heap, class, stack_slots(heap, class), 0);
}

/* Blocks in level 0 of a class, whatever its front; not of hs_no_heap. Any thread may ask. */
static inline uint32_t hs_held(struct heap *heap, unsigned class)
{
    return stack_held(heap, class) + (class < FRONT_RECORDS ? word_look(&heap->front[class].held) : 0);
}

/* In the level that is a list. */
static inline uint32_t hs_listed(struct heap *heap, unsigned class)
{
    return class < FRONT_RECORDS ? word_look(&heap->front[class].listed) : 0;
}
