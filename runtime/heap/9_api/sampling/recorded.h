/* The malloc family while the process is recorded (record.h): each function does what that of the same name does, by what that
 * is made of, and records it. The end of api.c. */
#pragma once

#include "8_threads/front/only_stacks.h"
#include "9_api/operator_new.h"
#include "9_api/sampling/ready.h"
#include "9_api/sampling/record.h"
#include "9_api/sampling/samples.h"

#pragma GCC visibility push(default)

/* What jumps to one of these must not have a copy of it: that would not lead here. */
#define CALLED __attribute__((noinline, noclone))
CALLED void *malloc(size_t bytes);
CALLED void free(void *block);
CALLED void *calloc(size_t count, size_t bytes);
CALLED void *realloc(void *block, size_t bytes);
CALLED void *reallocarray(void *block, size_t count, size_t bytes);
CALLED int posix_memalign(void **block, size_t alignment, size_t bytes);
CALLED void *aligned_alloc(size_t alignment, size_t bytes);
CALLED void *memalign(size_t alignment, size_t bytes);
CALLED void *valloc(size_t bytes);
CALLED void *pvalloc(size_t bytes);

#pragma GCC visibility pop

/* Each event has a stamp of its own: other threads may have events. */
static void put_event(struct writer *w, enum spool_operation operation, const void *block, size_t bytes, uint32_t site)
{
    put_stamped_at(w, operation, stamp_event(w), (uint64_t)(uintptr_t)block, bytes, site);
}

/* The number of the stack that led here; 0 where nobody asks for stacks. */
static uint32_t recorded_site(void)
{
    if (hs_recording.stacks == 0)
        return 0;
    struct call_stack stack;
    hs_call_stack(&stack);
    return hs_stack_number(&stack);
}

static void *born(struct writer *w, enum spool_operation operation, void *block, size_t bytes)
{
    if (w != NULL && block != NULL)
        put_event(w, operation, block, bytes, recorded_site());
    record_ends();
    return block;
}

static void *born_aligned(struct writer *w, void *block, size_t alignment, size_t bytes)
{
    if (w != NULL && block != NULL) {
        uint32_t site = recorded_site();
        put_aligned_at(w, SPOOL_ALIGNED, stamp_event(w), (uint64_t)(uintptr_t)block, alignment, bytes, site);
    }
    record_ends();
    return block;
}

static COLD void *recorded_malloc(size_t bytes)
{
    struct writer *w = record_begins();
    void *block = bytes > SMALL_LIMIT ? hs_malloc_large_watched(bytes)
                                      : hs_malloc_watched(hs_self, size_to_class(bytes), bytes, only_stack_refill);
    return born(w, SPOOL_MALLOC, block, bytes);
}

static COLD void recorded_free(void *block)
{
    struct writer *w = block == NULL ? NULL : record_begins();
    if (w != NULL)
        put_event(w, SPOOL_FREE, block, 0, 0);
    free_any(block);
    if (block != NULL)
        record_ends();
}

static COLD void *recorded_calloc(size_t count, size_t bytes)
{
    struct writer *w = record_begins();
    return born(w, SPOOL_CALLOC, zeroed(count, bytes, __builtin_return_address(0)), count * bytes);
}

static COLD void *resize_recorded(void *block, size_t bytes, const void *caller)
{
    struct writer *w = record_begins();
    if (w == NULL || block == NULL)
        return born(w, SPOOL_MALLOC, reallocate(block, bytes, caller), bytes);
    put_event(w, SPOOL_REALLOC_FROM, block, 0, 0);
    void *moved = reallocate(block, bytes, caller);
    put_event(w, SPOOL_REALLOC_TO, moved, bytes, moved == NULL ? 0 : recorded_site());
    record_ends();
    return moved;
}

static COLD void *recorded_realloc(void *block, size_t bytes)
{
    return resize_recorded(block, bytes, __builtin_return_address(0));
}

static COLD void *recorded_reallocarray(void *block, size_t count, size_t bytes)
{
    size_t total;
    if (!__builtin_mul_overflow(count, bytes, &total))
        return resize_recorded(block, total, __builtin_return_address(0));
    errno = ENOMEM;
    return NULL;
}

static COLD int recorded_posix_memalign(void **block, size_t alignment, size_t bytes)
{
    struct writer *w = record_begins();
    int status = align_into(block, alignment, bytes, __builtin_return_address(0));
    born_aligned(w, status == 0 ? *block : NULL, alignment, bytes);
    return status;
}

static COLD void *recorded_aligned_alloc(size_t alignment, size_t bytes)
{
    struct writer *w = record_begins();
    return born_aligned(w, align_exactly(alignment, bytes, __builtin_return_address(0)), alignment, bytes);
}

static COLD void *recorded_memalign(size_t alignment, size_t bytes)
{
    struct writer *w = record_begins();
    return born_aligned(w, align_rounded(alignment, bytes, __builtin_return_address(0)), alignment, bytes);
}

static COLD void *recorded_valloc(size_t bytes)
{
    struct writer *w = record_begins();
    void *block = align_to_page(bytes, __builtin_return_address(0));
    return born_aligned(w, block, PAGE_BYTES, bytes);
}

static COLD void *recorded_pvalloc(size_t bytes)
{
    struct writer *w = record_begins();
    void *block = align_pages(bytes, __builtin_return_address(0));
    return born_aligned(w, block, PAGE_BYTES, whole_pages(bytes));
}

#ifndef HEAPSMITH_ARCHIVE
static COLD void *recorded_new(size_t bytes)
{
    void *block = recorded_malloc(bytes);
    return block != NULL ? block : new_elsewhere(bytes);
}
#endif

const struct recorded_function hs_recorded[RECORDED] = {
#ifndef HEAPSMITH_ARCHIVE
    { new_plain, recorded_new },
#endif
    { malloc, recorded_malloc },
    { free, recorded_free },
    { calloc, recorded_calloc },
    { realloc, recorded_realloc },
    { reallocarray, recorded_reallocarray },
    { posix_memalign, recorded_posix_memalign },
    { aligned_alloc, recorded_aligned_alloc },
    { memalign, recorded_memalign },
    { valloc, recorded_valloc },
    { pvalloc, recorded_pvalloc },
};
