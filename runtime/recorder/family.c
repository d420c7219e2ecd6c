/* The exported malloc family: each function calls the real one and records what it did.
 *
 * An allocation is recorded after the call and only if it succeeded; a free before the call. malloc_usable_size is no
 * event: it is here because the library that has malloc may lack it. */
#define _GNU_SOURCE
#include <errno.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <unistd.h>

#include "real.h"
#include "sample.h"
#include "sites.h"

/* Record a successful allocation if there is a writer; returns the block, as the caller must. */
static inline void *end_alloc(struct writer *w, enum spool_operation operation, void *block, size_t bytes,
                              struct caller caller)
{
    if (w == NULL)
        return block;
    if (block != NULL)
        put_event(w, operation, block, bytes, site_of(w, caller));
    end_call(w);
    return block;
}

/* Record what concerns an alignment. */
static void put_aligned(struct writer *w, enum spool_operation operation, const void *block, size_t alignment,
                        size_t bytes, uint32_t site)
{
    uint64_t address = (uint64_t)(uintptr_t)block;
    note_large(address, bytes);
    put_aligned_at(w, operation, stamp_shared(w), address, alignment, bytes, site);
}

static void *end_aligned(struct writer *w, void *block, size_t alignment, size_t bytes, struct caller caller)
{
    if (w == NULL)
        return block;
    if (block != NULL)
        put_aligned(w, SPOOL_ALIGNED, block, alignment, bytes, site_of(w, caller));
    end_call(w);
    return block;
}

static inline void *allocate(const struct real_basis *from, size_t bytes, struct caller caller)
{
    struct writer *w = begin_call();
    return end_alloc(w, SPOOL_MALLOC, from->malloc(bytes), bytes, caller);
}

static inline void *allocate_zeros(const struct real_basis *from, size_t count, size_t bytes, struct caller caller)
{
    struct writer *w = begin_call();
    return end_alloc(w, SPOOL_CALLOC, from->calloc(count, bytes), count * bytes, caller);
}

static void *resize(const struct real_basis *from, void *block, size_t bytes, struct caller caller)
{
    struct writer *w = begin_call();
    if (w == NULL)
        return from->realloc(block, bytes);
    if (block == NULL)
        return end_alloc(w, SPOOL_MALLOC, from->realloc(NULL, bytes), bytes, caller);
    sample_block(w, block);
    put_event(w, SPOOL_REALLOC_FROM, block, 0, 0);
    void *moved = from->realloc(block, bytes);
    bool is_sited = moved != NULL || (FREE_SITES && bytes == 0); /* else it failed, or is a free */
    put_event(w, SPOOL_REALLOC_TO, moved, bytes, is_sited ? site_of(w, caller) : 0);
    end_call(w);
    return moved;
}

static inline void give_back(const struct real_basis *to, void *block, struct caller caller)
{
    if (block == NULL)
        return;
    struct writer *w = begin_call();
    if (w != NULL) {
        sample_block(w, block);
        put_event(w, SPOOL_FREE, block, 0, free_site_of(w, caller));
    }
    to->free(block);
    if (w != NULL)
        end_call(w);
}

static void *align(const struct real_basis *from, size_t alignment, size_t bytes, struct caller caller)
{
    struct writer *w = begin_call();
    return end_aligned(w, from->memalign(alignment, bytes), alignment, bytes, caller);
}

static void *align_to_page(const struct real_basis *from, size_t bytes, struct caller caller)
{
    struct writer *w = begin_call();
    return end_aligned(w, from->valloc(bytes), (size_t)getpagesize(), bytes, caller);
}

/* Asks for whole pages, and is recorded as having asked for them. */
static void *whole_pages(const struct real_basis *from, size_t bytes, struct caller caller)
{
    struct writer *w = begin_call();
    size_t page = (size_t)getpagesize();
    return end_aligned(w, from->pvalloc(bytes), page, (bytes + page - 1) & ~(page - 1), caller);
}

#pragma GCC visibility push(default)

void *malloc(size_t bytes)
{
    return allocate(&real.plain, bytes, CALLER);
}

void *calloc(size_t count, size_t bytes)
{
    return allocate_zeros(&real.plain, count, bytes, CALLER);
}

void *realloc(void *block, size_t bytes)
{
    return resize(&real.plain, block, bytes, CALLER);
}

/* As the C library's: a checked product, then realloc; calling the real one would come back here. */
void *reallocarray(void *block, size_t count, size_t bytes)
{
    size_t total;
    if (__builtin_mul_overflow(count, bytes, &total)) {
        errno = ENOMEM;
        return NULL;
    }
    return resize(&real.plain, block, total, CALLER);
}

void free(void *block)
{
    give_back(&real.plain, block, CALLER);
}

void cfree(void *block)
{
    give_back(&real.plain, block, CALLER);
}

void free_sized(void *block, size_t bytes)
{
    if (block == NULL)
        return;
    struct writer *w = begin_call();
    if (w != NULL) {
        sample_block(w, block);
        put_event(w, SPOOL_FREE_SIZED, block, bytes, free_site_of(w, CALLER));
    }
    real.free_sized(block, bytes);
    if (w != NULL)
        end_call(w);
}

void free_aligned_sized(void *block, size_t alignment, size_t bytes)
{
    if (block == NULL)
        return;
    struct writer *w = begin_call();
    if (w != NULL) {
        sample_block(w, block);
        put_aligned(w, SPOOL_FREE_SIZED, block, alignment, bytes, free_site_of(w, CALLER));
    }
    real.free_aligned_sized(block, alignment, bytes);
    if (w != NULL)
        end_call(w);
}

static int align_into(void **out, size_t alignment, size_t bytes, struct caller caller)
{
    struct writer *w = begin_call();
    int status = real.posix_memalign(out, alignment, bytes);
    end_aligned(w, status == 0 ? *out : NULL, alignment, bytes, caller);
    return status;
}

int posix_memalign(void **out, size_t alignment, size_t bytes)
{
    return align_into(out, alignment, bytes, CALLER);
}

void *aligned_alloc(size_t alignment, size_t bytes)
{
    struct writer *w = begin_call();
    return end_aligned(w, real.aligned_alloc(alignment, bytes), alignment, bytes, CALLER);
}

void *memalign(size_t alignment, size_t bytes)
{
    return align(&real.plain, alignment, bytes, CALLER);
}

void *valloc(size_t bytes)
{
    return align_to_page(&real.plain, bytes, CALLER);
}

void *pvalloc(size_t bytes)
{
    return whole_pages(&real.plain, bytes, CALLER);
}

size_t malloc_usable_size(void *block)
{
    return block == NULL ? 0 : real.malloc_usable_size(block);
}

/* The names by which programs reach the C library's malloc past a malloc of their own. */

void *__libc_malloc(size_t bytes)
{
    return allocate(&real.libc, bytes, CALLER);
}

void *__libc_calloc(size_t count, size_t bytes)
{
    return allocate_zeros(&real.libc, count, bytes, CALLER);
}

void *__libc_realloc(void *block, size_t bytes)
{
    return resize(&real.libc, block, bytes, CALLER);
}

void __libc_free(void *block)
{
    give_back(&real.libc, block, CALLER);
}

void __libc_cfree(void *block)
{
    give_back(&real.libc, block, CALLER);
}

void *__libc_memalign(size_t alignment, size_t bytes)
{
    return align(&real.libc, alignment, bytes, CALLER);
}

void *__libc_valloc(size_t bytes)
{
    return align_to_page(&real.libc, bytes, CALLER);
}

void *__libc_pvalloc(size_t bytes)
{
    return whole_pages(&real.libc, bytes, CALLER);
}

int __posix_memalign(void **out, size_t alignment, size_t bytes)
{
    return align_into(out, alignment, bytes, CALLER);
}

#pragma GCC visibility pop
