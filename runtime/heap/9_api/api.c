/* The malloc family but for the emitted malloc and free: C17, C23, POSIX.1-2024, and glibc's extras. */
#include "9_api/api.h"

#include "1_base/bound.h"
#include "1_base/libc.h"
#include "4_blocks/classifier/classifier.h"
#include "4_blocks/freed_blocks/freed_blocks.h"
#include "4_blocks/hardening/given.h"
#include "9_api/foreign/foreign.h"
#include "4_blocks/hardening/hardening.h"
#include "8_threads/large.h"
#include "2_system/locks.h"
#include "2_system/os.h"
#include "2_system/over_fork.h"
#include "3_records/segregation/segregation.h"
#include "3_records/span.h"
#include "9_api/stats.h"

#include SAMPLING_ROW

#include <errno.h>
#include <string.h>

/* CHECK_GIVEN: the program has no such block of the class. */
static INLINED void look_at(const void *block, unsigned class)
{
    struct slab *slab = slab_of(block);
    const char *fault = HAS_HEADERS && slab->class != class ? NOT_A_START : freed_fault(slab, class, block);
    if (fault != NULL)
        hs_misuse(fault, block);
}

/* The plan of a small block's class; NULL if the block is not small. */
static const struct class_plan *small_plan(const void *block)
{
    if (!in_slab_span(block))
        return NULL;
    hardening_check(block);
    unsigned class = classifier_class(block);
    if (CHECK_GIVEN && class < CLASS_COUNT)
        look_at(block, class);
    return class < CLASS_COUNT ? &hs_class[class] : NULL;
}

/* What is no block of ours: another allocator's (true), or a fault of the program's that hardening may stop at (false). Both
 * are counted, with the caller: the program's own where it calls free and the compiler leaves tail calls (best effort). */
GATE static bool foreign(const void *block, const void *caller)
{
    hs_foreign_seen(caller);
    if (!in_slab_span(block) && !hs_large_owns(block))
        return true;
    hardening_bad_free(block);
    return false;
}

/* NULL, a large block, or a pointer that is none of ours. */
GATE void hs_free_large(void *block)
{
    if (block != NULL)
        sampling_frees(block);
    if (block == NULL || hs_large_free(block))
        return;
    if (foreign(block, __builtin_return_address(0)))
        foreign_free(block);
    else
        check(false, "a freed block is one of the program's");
}

/* As the emitted free. */
static INLINED void free_any(void *block)
{
    if (in_slab_span(block))
        hs_free_small(block);
    else
        hs_free_large(block);
}

static void *clear(void *block, size_t bytes)
{
    return LIVE_MAP ? hs_fill_any(block, 0, bytes, hs_any_size()) : memset(block, 0, bytes);
}

static void copy_to(void *moved, const void *block, size_t bytes)
{
#ifndef BOUNDED /* os_copy has a loop over pages, which reads what it copies twice */
    if (bytes > SMALL_LIMIT) {
        os_copy(moved, block, bytes);
        return;
    }
#endif
    if (LIVE_MAP)
        hs_copy_any(moved, block, bytes, hs_any_size());
    else
        memcpy(moved, block, bytes);
}

static APART void *zeroed_large(size_t bytes)
{
    bool zero;
    void *block = sampling_large(bytes, GRAIN, &zero);
    return block == NULL || zero ? block : clear(block, bytes);
}

static INLINED void *zeroed(size_t count, size_t bytes, const void *caller)
{
    size_t total;
    if (__builtin_expect(__builtin_mul_overflow(count, bytes, &total), 0))
        return zeroed_large(SIZE_MAX); /* no block is so large: ENOMEM */
    hs_expect_thread();
    if (__builtin_expect(total > SMALL_LIMIT, 0))
        return zeroed_large(total);
    void *block = hs_malloc_from(total, caller);
    return block == NULL ? NULL : clear(block, total);
}

void *calloc(size_t count, size_t bytes)
{
    return zeroed(count, bytes, __builtin_return_address(0));
}

/* Bytes that the program may write of a block with the plan (small_plan); 0 if it is none of ours. */
static size_t usable(const void *block, const struct class_plan *plan)
{
    return plan != NULL ? plan->usable : hs_large_usable(block);
}

/* From now on the program asks for `bytes` of the block. */
static void reseal(void *block, size_t usable, size_t bytes)
{
    hardening_unseal(block, usable);
    hardening_seal(block, usable, bytes);
}

/* The block itself if it may stay where it is, a remapped huge block, or NULL: it must move. */
static void *resize_in_place(void *block, const struct class_plan *plan, size_t bytes)
{
    if (plan == NULL)
        return hs_large_resize(block, bytes);
    bool same_class = bytes <= SMALL_LIMIT && hs_sized_plan(plan) == &hs_class[size_to_class(bytes)];
    bool fits_well = bytes <= plan->usable && 2 * bytes >= plan->usable;
    if (!same_class && !fits_well)
        return NULL;
    reseal(block, plan->usable, bytes);
    return block;
}

/* A block of ours of `old_bytes`. */
static void *resize(void *block, const struct class_plan *plan, size_t old_bytes, size_t bytes, const void *caller)
{
    bool large = plan == NULL;
    const uint64_t sample = large ? sampling_number(block) : 0;
    void *resized = !large && sampling_moves(bytes) ? NULL : resize_in_place(block, plan, bytes);
    if (resized != NULL) {
        if (large)
            sampling_left(block, resized, sample);
        sampling_stayed(resized, bytes, large);
        count_shared(&hs_count.realloc_in_place, 1);
        return resized;
    }
    void *moved = hs_malloc_from(bytes, caller);
    if (moved == NULL)
        return NULL;
    copy_to(moved, block, old_bytes < bytes ? old_bytes : bytes);
    free(block);
    count_shared(&hs_count.realloc_moved, 1);
    return moved;
}

static void *reallocate(void *block, size_t bytes, const void *caller)
{
    if (block == NULL)
        return hs_malloc_from(bytes, caller);
    const struct class_plan *plan = small_plan(block);
    size_t old_bytes = usable(block, plan);
    bool ours = old_bytes > 0 || hs_large_empty(block);
    if (!ours && foreign(block, caller))
        return foreign_realloc(block, bytes);
    if (bytes == 0) {
        free(block);
        return NULL;
    }
    if (ours)
        return resize(block, plan, old_bytes, bytes, caller);
    errno = ENOMEM; /* in one of our spans, but no block: there is nothing to copy */
    return NULL;
}

void *realloc(void *block, size_t bytes)
{
    return reallocate(block, bytes, __builtin_return_address(0));
}

void *reallocarray(void *block, size_t count, size_t bytes)
{
    size_t total;
    if (__builtin_mul_overflow(count, bytes, &total)) {
        errno = ENOMEM;
        return NULL;
    }
    return reallocate(block, total, __builtin_return_address(0));
}

static bool has_alignment(unsigned class, size_t alignment)
{
    return ((hs_class[class].stride | hs_class[class].first) & (alignment - 1)) == 0;
}

/* A size of the first class from that of `bytes` upward whose blocks all have the alignment; above SMALL_LIMIT if there is
 * none. Strides below the next multiple of the alignment have it not, so that the search begins there. It mostly ends there
 * too, and then malloc waits for no number of the class. */
static size_t aligned_size(size_t alignment, size_t bytes)
{
    if (bytes > SMALL_LIMIT || (LIVE_MAP && bytes == 0) || alignment > LEAST_PAGE_BYTES)
        return SIZE_MAX;
    size_t least = ((bytes + SIZE_BIAS + alignment - 1) & -alignment) - SIZE_BIAS;
    if (least > SMALL_LIMIT)
        return SIZE_MAX;
    unsigned class = size_to_class(least);
    if (has_alignment(class, alignment))
        return least;
    ROUNDS(classes_looked_at);
    while (++class < SIZED_CLASSES) {
        BOUND(classes_looked_at, SIZED_CLASSES);
        if (has_alignment(class, alignment))
            return hs_class[class].usable;
    }
    return SIZE_MAX;
}

/* alignment: a power of two. */
static void *allocate_aligned(size_t alignment, size_t bytes, const void *caller)
{
    if (alignment <= GRAIN)
        return hs_malloc_from(bytes, caller);
    size_t size = aligned_size(alignment, bytes);
    bool zero;
    if (size > SMALL_LIMIT)
        return sampling_large(bytes, alignment, &zero);
    void *block = sampling_aligned(bytes, alignment, size);
    if (block != NULL)
        return block;
    block = hs_malloc_from(size, caller);
    const struct class_plan *plan = small_plan(block); /* of a larger class, if that lent the block */
    if (plan != NULL)
        reseal(block, plan->usable, bytes);
    return block;
}

static bool power_of_two(size_t value)
{
    return value != 0 && (value & (value - 1)) == 0;
}

static INLINED int align_into(void **block, size_t alignment, size_t bytes, const void *caller)
{
    if (!power_of_two(alignment) || alignment % sizeof(void *) != 0)
        return EINVAL;
    int saved = errno;
    void *allocated = allocate_aligned(alignment, bytes, caller);
    errno = saved;
    if (allocated == NULL)
        return ENOMEM;
    *block = allocated;
    return 0;
}

int posix_memalign(void **block, size_t alignment, size_t bytes)
{
    return align_into(block, alignment, bytes, __builtin_return_address(0));
}

static INLINED void *align_exactly(size_t alignment, size_t bytes, const void *caller)
{
    if (!power_of_two(alignment)) {
        errno = EINVAL;
        return NULL;
    }
    return allocate_aligned(alignment, bytes, caller);
}

void *aligned_alloc(size_t alignment, size_t bytes)
{
    return align_exactly(alignment, bytes, __builtin_return_address(0));
}

/* As glibc: an alignment that is no power of two is rounded up to one. */
static INLINED void *align_rounded(size_t alignment, size_t bytes, const void *caller)
{
    if (alignment > SIZE_MAX / 2 + 1) {
        errno = EINVAL;
        return NULL;
    }
    size_t rounded = GRAIN;
    ROUNDS(doublings);
    while (rounded < alignment) {
        BOUND(doublings, 64);
        rounded *= 2;
    }
    return allocate_aligned(rounded, bytes, caller);
}

void *memalign(size_t alignment, size_t bytes)
{
    return align_rounded(alignment, bytes, __builtin_return_address(0));
}

static INLINED void *align_to_page(size_t bytes, const void *caller)
{
    page_learn();
    return allocate_aligned(PAGE_BYTES, bytes, caller);
}

void *valloc(size_t bytes)
{
    return align_to_page(bytes, __builtin_return_address(0));
}

static INLINED void *align_pages(size_t bytes, const void *caller)
{
    page_learn();
    if (bytes > SIZE_MAX - PAGE_BYTES) {
        errno = ENOMEM;
        return NULL;
    }
    return allocate_aligned(PAGE_BYTES, whole_pages(bytes), caller);
}

void *pvalloc(size_t bytes)
{
    return align_pages(bytes, __builtin_return_address(0));
}

size_t malloc_usable_size(void *block)
{
    if (block == NULL)
        return 0;
    const struct class_plan *plan = small_plan(block);
    size_t bytes = plan != NULL ? hardening_bytes(block, plan->usable) : sampling_usable(block, hs_large_bytes(block));
    if (bytes == 0 && !hs_large_empty(block) && foreign(block, __builtin_return_address(0)))
        return foreign_usable(block);
    return bytes;
}

#ifdef HEAPSMITH_ARCHIVE
__attribute__((constructor(101))) static void FIRST_OF_ARCHIVE(void)
{
    LIBC_IS_OURS();
    hs_locks_over_fork();
}
#else
/* A program's or library's own pthread_atfork calls it. */
int __register_atfork(void (*before)(void), void (*in_parent)(void), void (*in_child)(void), void *object)
{
    hs_locks_over_fork();
    return hs_register(&(struct fork_handlers){ before, in_parent, in_child }, object);
}
#endif

/* The family once more, as recordings need it. */
#include SAMPLING_FAMILY
