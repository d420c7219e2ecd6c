/* The heap: its structures, and what each part of the runtime offers the others. Terms and rules: docs/machine.md. */
#ifndef HEAPSMITH_HEAP_H
#define HEAPSMITH_HEAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "counters.h"
#include "plan.h"

/* All of it is the library's own: reached without the global offset table. */
#pragma GCC visibility push(hidden)

/* The compile switches: -DHEAPSMITH_CHECKED=1 counts the hit path, asserts the equations, and can reset the heap;
 * -DHEAPSMITH_ARCHIVE=1 leaves C++'s operators out (the emitted heap.c). */
#ifndef HEAPSMITH_CHECKED
#define HEAPSMITH_CHECKED 0
#endif

/* A free block on a list passes through its first word, encoded where the design is hardened (see link_next). */
struct block {
    uintptr_t link;
};

struct heap;

/* Numbers of one size class; a row of the emitted table hs_class. */
struct class_plan {
    uint32_t usable, stride, first, blocks;
    uint64_t reciprocal; /* (x * reciprocal) >> RECIPROCAL_SHIFT == x / stride inside a slab */
    uint32_t capacity, list_capacity, refill, flush, spill, promote;
    uint32_t slot;  /* where the class's level 0 begins in heap.slot; the slot before it stays NULL */
    uint32_t stack; /* the capacity where level 0 is an array stack, else 0 */
    uint32_t transfer, transfer_slot; /* batches that the transfer cache may hold, and where they begin in it */
    void (*drain)(struct heap *heap, unsigned class);
};

/* One slab of the span; the table is out of line and parallel to the span.
 * out + freed == carved <= blocks; the bitmap has `freed` marks, all below `carved`. */
struct slab {
    uint32_t carved;       /* blocks handed out at least once */
    uint32_t freed;        /* marks in the bitmap */
    uint32_t out;          /* blocks in fronts, quarantines, the transfer cache, on remote lists, or with the program */
    uint32_t committed;    /* bytes touched since the slab was mapped or released */
    struct slab *next;     /* slab choice's list or heap, or the pool */
    struct slab *previous; /* slab choice's list or heap */
    struct slab *child;    /* slab choice's heap (address_ordered) */
    struct slab *newer;    /* age queue of empty slabs (release `budget`): the one retired after this */
    struct slab *elder;    /* age queue: the one retired before this */
    struct heap *owner;    /* the heap that acquired it (owner_list), or NULL */
    struct slab *older;    /* the slab handed out before this one: every slab ever, under the pool lock */
    uint16_t class;
    bool pooled;           /* in a pool; under the pool lock */
    bool aging;            /* in the age queue */
    bool sealed;           /* pooled, and its pages are address space only (hs_store_reclaim) */
    bool huge;             /* its superslab lies on huge pages */
};

/* What slab choice knows of one class: under the store's lock, or the owner's alone. */
struct class_slabs {
    struct slab *hot;
    struct slab *head;
};

struct store {
    struct class_slabs of[CLASS_COUNT];
};

/* One class's front, but for array stacks. held <= capacity, listed <= list_capacity; in hs_no_heap held is above the
 * capacity, so that both the pop and the push of a thread without a heap leave the hit path. */
struct front {
    uint32_t held;      /* fifo_ring, linked_list: blocks in level 0 */
    uint32_t head;      /* fifo_ring: where the oldest stands */
    uint32_t listed;    /* two_level: blocks in level 1 */
    struct block *list; /* linked_list: level 0; two_level: level 1. LIFO */
};

/* Runs that the heap's thread freed, the oldest first; pages <= RUN_CACHE_BYTES / PAGE_BYTES. Of that thread alone. */
struct run_cache {
    uint32_t held;
    uint32_t pages; /* of all of them */
    uint32_t length[RUN_CACHE_SLOTS]; /* pages of each */
    void *run[RUN_CACHE_SLOTS];
};

/* Small blocks that the heap's thread freed last: a ring, FIFO, of that thread alone. held <= QUARANTINE. */
struct quarantine {
    uint32_t held;
    uint32_t oldest;
    void *block[QUARANTINE_SLOTS];
};

/* What one thread owns. Only that thread touches it, but for `remote` and `next`.
 *
 * Array stacks go by row, 1 + class; row 0 is of no class. LIFO: top[row] is the slot that the next freed block goes to, the
 * block below it is handed out next. Below the oldest lies a slot that is always NULL: the stack is empty then. It is full
 * where top == end. slot <= top <= end for a stack; rows without one are always empty and always full. */
struct heap {
    void **top[1 + CLASS_COUNT];
    void **end[1 + CLASS_COUNT];
    uintptr_t span;    /* hs_span and hs_span_bytes for heapsmith.h; 0 in hs_no_heap */
    size_t span_bytes;
    uint8_t row_of[DIRECT_LIMIT + 1]; /* the row of a request's class, by its bytes; all 0 in hs_no_heap */
    struct front front[CLASS_COUNT];
    struct block *remote; /* owner_list: LIFO, any thread pushes, the owner takes all */
    struct heap *next;    /* LIFO of abandoned heaps, under the pool lock */
    struct heap *older;   /* all heaps ever created, newest first; written before the heap is published, under the pool lock */
    struct store store;   /* owner_list: the slabs this heap owns */
    struct class_count count[CLASS_COUNT];
    struct run_cache runs;
    struct quarantine quarantine;
    void *slot[]; /* SLOT_COUNT of them: level 0 of all classes, one after the other; hs_no_heap has none */
};

extern const struct class_plan hs_class[CLASS_COUNT];
extern struct heap hs_no_heap; /* of every thread that has none: always empty and always full */
extern __thread struct heap *hs_self;
void hs_become(struct heap *heap); /* hs_self, and what heapsmith.h reads (emitted) */
extern __thread bool hs_forking; /* this thread is inside fork() and holds the pool lock and the large lock */

/* What malloc dispatches to (emitted). */
extern void *(*const hs_alloc_of[CLASS_COUNT])(void);
extern void (*const hs_free_of[1 + CLASS_COUNT])(void *block); /* by 1 + class: into the thread's own front; [0]: no class */
void hs_free_small(void *block); /* sections 4 and 7: a block that left the quarantine; hardening "full" only */
extern const uint8_t hs_size_class[];
extern const char hs_design[]; /* name and hash */

static inline unsigned size_to_class(size_t bytes)
{
    return hs_size_class[(bytes + SIZE_BIAS + GRAIN - 1) / GRAIN];
}

/* The slot of the oldest block of a class's stack. */
static inline void **stack_slots(struct heap *heap, unsigned class)
{
    return heap->slot + hs_class[class].slot;
}

static inline uint32_t stack_held(struct heap *heap, unsigned class)
{
    void **top = __atomic_load_n(&heap->top[1 + class], __ATOMIC_RELAXED);
    return (uint32_t)(top - stack_slots(heap, class));
}

static inline void stack_hold(struct heap *heap, unsigned class, uint32_t blocks)
{
    __atomic_store_n(&heap->top[1 + class], stack_slots(heap, class) + blocks, __ATOMIC_RELAXED);
}

/* Blocks in level 0 of a class, whatever its front; not of hs_no_heap. Any thread may ask. */
static inline uint32_t hs_held(struct heap *heap, unsigned class)
{
    return word_look(&heap->front[class].held) + stack_held(heap, class);
}

/* Counts the hit path, in the checked build only. */
static inline void count_checked(uint64_t *counter)
{
    if (HEAPSMITH_CHECKED)
        count_own(counter, 1);
}

/* Aborts with a line that names the equation, in the checked build only. */
void hs_broken(const char *equation) __attribute__((noreturn, cold));

static inline void check(bool holds, const char *equation)
{
    if (HEAPSMITH_CHECKED && !holds)
        hs_broken(equation);
}

/* The slab span (slabs.c). */
extern uintptr_t hs_span;    /* its start; before it is reserved a value that keeps every pointer out */
extern size_t hs_span_bytes; /* reserved: at most SLAB_SPAN_BYTES; 0 before */
extern struct slab *hs_slabs;
extern uint64_t *hs_marks; /* BITMAP_WORDS per slab: bit i is set while block i is freed */

/* hardening/: what stands between the program and the machine (docs/hardening.md); the emitted malloc and free call it. */
bool hardening_reserve(size_t span_bytes);               /* with the slab span */
bool hardening_commit(size_t offset);                    /* a superslab is mapped */
void hardening_released(size_t offset);                  /* an empty slab's pages went back */
void hardening_check(const void *block);                 /* the program gives this block of the slab span to realloc or usable_size: is it one? */
void hardening_bad_free(const void *block);              /* freed, in one of our spans, and no block of ours */
void hardening_seal(void *block, size_t usable);         /* a large block goes to the program with so many usable bytes */
void hardening_unseal(const void *block, size_t usable); /* it comes back, or changes its size */
void hardening_empty(struct heap *heap);                 /* thread exit: the quarantine's blocks are freed */
void hardening_reset(void);
void hs_misuse(const char *fault, const void *block) __attribute__((noreturn, cold)); /* one line, then abort */
extern uintptr_t hs_link_key; /* of this process; 0 where links are not encoded */

static inline bool in_slab_span(const void *block)
{
    return (uintptr_t)block - hs_span < hs_span_bytes;
}

/* A block's link: encoded with the process's key and the place it is written at (E. Itkin, "Safe-Linking", Check Point
 * Research, 2020), so that what the program wrote there after the free is seen when the link is followed. */
static inline void link_set(struct block *block, const struct block *next)
{
    block->link = (uintptr_t)next ^ (ENCODE_LINKS ? hs_link_key ^ (uintptr_t)block >> 12 : 0);
}

static inline struct block *link_next(const struct block *block)
{
    struct block *next = (struct block *)(block->link ^ (ENCODE_LINKS ? hs_link_key ^ (uintptr_t)block >> 12 : 0));
    if (ENCODE_LINKS && next != NULL && (!in_slab_span(next) || (uintptr_t)next % GRAIN != 0))
        hs_misuse("a block was written to after its free", block);
    return next;
}

/* The same when the block leaves its list: zero again where hardening looks for writes after the free. */
static inline struct block *link_take(struct block *block)
{
    struct block *next = link_next(block);
    if (ZERO_FREED)
        block->link = 0;
    return next;
}

/* thread.c: the life of heaps. */
bool hs_started(void); /* the spans exist, now if not before; false without address space */
struct heap *hs_heap_start(void); /* the calling thread's heap, adopted or created; NULL without memory */
void hs_rows_init(struct heap *heap); /* rows.c */
void hs_drain_fronts(struct heap *heap); /* every block of its fronts goes to the store; by its own thread */
void hs_lock_pool(void);            /* slabs without a class, superslabs, abandoned heaps */
void hs_unlock_pool(void);
void hs_forget_heaps(void);         /* checked build: as if no thread had ever allocated */
void hs_visit_heaps(void (*visit)(struct heap *heap, void *with), void *with); /* hs_no_heap too; without a lock */

/* store.c: blocks; slabs.c: slabs. */
void hs_store_init(void);
uint32_t hs_take(struct heap *heap, unsigned class, void **blocks, uint32_t want); /* a refill; takes the store's lock */
struct slab *hs_acquire_slab(struct heap *heap, unsigned class); /* for the class; NULL without memory */
void hs_retire_slab(struct heap *heap, struct slab *slab);       /* it is empty */
void hs_give(struct heap *heap, unsigned class, void *block); /* under the store's lock, as the next */
void hs_give_batch(struct heap *heap, unsigned class, void *const *blocks, uint32_t count);
void hs_give_all(struct heap *heap, unsigned class, void *const *blocks, uint32_t count); /* takes the lock */
/* Both empty the transfer caches first, and return bytes. */
size_t hs_store_trim(void);             /* the pages of all empty slabs go back */
size_t hs_store_reclaim(size_t wanted); /* empty slabs become address space: at least so many bytes, if there are */
void hs_store_census(size_t *slab_bytes, size_t *out_bytes); /* committed to slabs; of that in blocks that are out */
void hs_store_check(void);                         /* checked build */
void hs_store_reset(void);                         /* checked build */
bool hs_release_slab(struct slab *slab, bool lazily); /* an empty slab's pages go back; false if the system refuses */

static inline struct slab *slab_of(const void *block)
{
    return hs_slabs + (((uintptr_t)block - hs_span) >> SLAB_SHIFT);
}

static inline size_t slab_offset(const struct slab *slab)
{
    return (size_t)(slab - hs_slabs) << SLAB_SHIFT;
}

static inline char *slab_start(const struct slab *slab)
{
    return (char *)hs_span + slab_offset(slab);
}

static inline uint64_t *marks_of(const struct slab *slab)
{
    return hs_marks + (size_t)(slab - hs_slabs) * BITMAP_WORDS;
}

static inline void hs_check_slab(const struct slab *slab)
{
    check(slab->out + slab->freed == slab->carved, "out + freed == carved");
    check(slab->carved <= hs_class[slab->class].blocks, "carved <= blocks");
}

static inline bool slab_available(const struct slab *slab)
{
    return slab->freed > 0 || slab->carved < hs_class[slab->class].blocks;
}

/* choice/: which slab serves. */
struct slab *choice_gives(struct class_slabs *slabs);
void choice_attach(struct class_slabs *slabs, struct slab *slab);
void choice_remove(struct class_slabs *slabs, struct slab *slab);
void choice_add(struct class_slabs *slabs, struct slab *slab);
bool choice_lets_go(const struct class_slabs *slabs, const struct slab *slab);

/* empties/: whom an empty slab and a superslab serve. Under the pool lock. */
struct superslab {
    size_t next; /* offset of the next slab to hand out */
    size_t end;
};
struct slab **empties_pool(unsigned class);
struct superslab *empties_superslab(unsigned class);
void empties_reset(void);

/* classifier/: where superslabs lie, and how free() knows a class. Under the pool lock. */
size_t classifier_span(unsigned halvings); /* the slab span's bytes when it is halved so often; 0: too little */
size_t classifier_place(unsigned class); /* offset of the next superslab; SIZE_MAX when the span is used up */
void classifier_placed(unsigned class);  /* that superslab was mapped; before hs_count counts it */
void classifier_adopt(const struct slab *slab); /* the slab now has its class */
void classifier_retire(const struct slab *slab); /* the slab has no class any more */
void classifier_mark(void *const *blocks, uint32_t count, unsigned class); /* blocks that left their slab */
void classifier_unmark(void *block);                                            /* it is back; what was marked is zero */
unsigned classifier_class(const void *block); /* of a block in the slab span; NO_CLASS if it is none */
void classifier_reset(void); /* checked build; before the counters are reset */
extern uint8_t hs_slab_class[SPAN_SLABS]; /* slab_map: 1 + class; 0 where no class lives */
extern uint8_t hs_region_shift;           /* class_region: a block's class is its offset in the span, shifted right so far */

/* release/: pages back to the OS. */
void release_slab(struct slab *slab);    /* it was retired; under the pool lock */
void release_reused(struct slab *slab);  /* it left the pool; under the pool lock */
void release_needed_runs(size_t bytes);  /* of free runs whose pages had gone back; under the large lock */
bool release_keeps_runs(size_t bytes);   /* may free runs keep so many committed bytes together? */
void release_check(void);                /* checked build */
void release_reset(void);

/* foreign/: pointers that are none of ours: the leftovers of whatever allocator made them. */
void foreign_free(void *block);
void *foreign_realloc(void *block, size_t bytes);
size_t foreign_usable(void *block);
void hs_foreign_seen(const void *caller); /* stats.c: counts it and its caller */

/* remote/: frees by threads that are not the owner, and which store a heap uses. */
struct store *remote_store(struct heap *heap);
void remote_lock_store(void);
void remote_unlock_store(void);
void remote_lock_pool(void); /* around pool work inside a store operation */
void remote_unlock_pool(void);
void remote_own(struct slab *slab, struct heap *heap);
void remote_free(struct heap *owner, unsigned class, void *block); /* by another thread than the owner's */
bool remote_drain(struct heap *heap);                              /* true if blocks came */
struct heap *remote_freeing_heap(void);                            /* the calling thread's, got now if it needs one to free; hs_no_heap: none */
void remote_orphan_free(unsigned class, void *block);              /* by a thread without a heap */
void remote_reset(void);

/* api.c: what the emitted malloc and free leave to it. */
void *hs_malloc_large(size_t bytes);
void hs_free_large(void *block); /* also NULL and pointers that are not ours */

/* The heap itself, or the one that a thread without any gets now; NULL if it gets none. */
static inline struct heap *hs_heap_of(struct heap *heap)
{
    return heap != &hs_no_heap ? heap : hs_heap_start();
}

/* There is no heap, or no slab for the class: a run serves. */
static inline void *hs_alloc_run_for(unsigned class)
{
    return hs_malloc_large(hs_class[class].usable);
}

/* front/: the slow paths of each front; `none` has nothing else. */
void *none_alloc(struct heap *heap, unsigned class);
void none_free(struct heap *heap, unsigned class, void *block);
void *array_stack_fill(struct heap *heap, unsigned class);
void *array_stack_pop(struct heap *heap, unsigned class);
void *array_stack_refill(struct heap *heap, unsigned class);
void array_stack_flush(struct heap *heap, unsigned class, void *block);
void array_stack_drain(struct heap *heap, unsigned class);
void *fifo_ring_refill(struct heap *heap, unsigned class);
void fifo_ring_flush(struct heap *heap, unsigned class, void *block);
void fifo_ring_drain(struct heap *heap, unsigned class);
void *linked_list_refill(struct heap *heap, unsigned class);
void linked_list_flush(struct heap *heap, unsigned class, void *block);
void linked_list_drain(struct heap *heap, unsigned class);
void *two_level_refill(struct heap *heap, unsigned class);
void two_level_spill(struct heap *heap, unsigned class, void *block);
void two_level_drain(struct heap *heap, unsigned class);

/* large.c: runs of pages and huge mappings; a thread's own run cache is looked at without the large lock. */
bool hs_large_init(void);
void *hs_large_alloc(size_t bytes, size_t alignment, bool *zero); /* sets errno */
bool hs_large_free(void *block);                                  /* false: not a large block of ours */
bool hs_large_owns(const void *block);                            /* in the run span, block or not; where hardened or checked, in a huge block */
size_t hs_large_usable(const void *block);                        /* 0: not a large block of ours */
void *hs_large_resize(void *block, size_t bytes);                 /* in place, or a huge block remapped; NULL: must move */
size_t hs_large_trim(struct heap *heap);                          /* its cache and all free runs give their pages back; bytes */
int64_t hs_large_locate(const void *block);
void hs_large_census(size_t *run_bytes, size_t *used_bytes, size_t *huge_bytes, size_t *huge_blocks);
void hs_large_lock(void);
void hs_large_unlock(void);
bool hs_large_trylock(void); /* for the handlers of fork, which own both locks until it is over */
bool hs_large_mine(void);    /* the calling thread holds it */
void hs_large_forget_lock(void); /* in the child of fork: its holder stayed with the parent */
void hs_large_check(void);
bool hs_large_reset(void); /* checked build */

#pragma GCC visibility pop

#endif
