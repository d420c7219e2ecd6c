/* The exported malloc family: each function calls the real one and records what it did.
 *
 * An allocation is recorded after the call and only if it succeeded; a free before the call. malloc_usable_size is no
 * event: it is here for blocks of the static buffer. */
#define _GNU_SOURCE
#include <errno.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
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
        put_birth(w, operation, block, bytes, site_of(w, caller));
    end_call(w);
    return block;
}

static unsigned log2_of(size_t alignment)
{
    return alignment > 1 ? 64 - (unsigned)__builtin_clzl(alignment - 1) : 0;
}

/* Record what concerns an alignment. */
static void put_aligned(struct writer *w, enum spool_operation operation, const void *block, size_t alignment,
                        size_t bytes, uint32_t site)
{
    uint64_t more = (uint64_t)site << SPOOL_SITE_SHIFT | log2_of(alignment);
    put_long_record(w, operation, stamp_event(w), (uint64_t)(uintptr_t)block, bytes, more);
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

/* Out of the static buffer: copied, never freed. */
static void *move_from_bootstrap(const void *block, size_t bytes)
{
    size_t rest = bootstrap_rest(block);
    void *moved = malloc(bytes);
    if (moved != NULL)
        memcpy(moved, block, bytes < rest ? bytes : rest);
    return moved;
}

static void *resize(void *block, size_t bytes, struct caller caller)
{
    if (is_bootstrap(block))
        return move_from_bootstrap(block, bytes);
    struct writer *w = begin_call();
    if (w == NULL)
        return real.realloc(block, bytes);
    if (block == NULL)
        return end_alloc(w, SPOOL_MALLOC, real.realloc(NULL, bytes), bytes, caller);
    sample_block(w, block);
    put_event(w, SPOOL_REALLOC_FROM, block, 0);
    void *moved = real.realloc(block, bytes);
    put_birth(w, SPOOL_REALLOC_TO, moved, bytes, moved == NULL ? 0 : site_of(w, caller));
    end_call(w);
    return moved;
}

#pragma GCC visibility push(default)

void *malloc(size_t bytes)
{
    struct writer *w = begin_call();
    return end_alloc(w, SPOOL_MALLOC, real.malloc(bytes), bytes, CALLER);
}

void *calloc(size_t count, size_t bytes)
{
    struct writer *w = begin_call();
    return end_alloc(w, SPOOL_CALLOC, real.calloc(count, bytes), count * bytes, CALLER);
}

void *realloc(void *block, size_t bytes)
{
    return resize(block, bytes, CALLER);
}

/* As the C library's: a checked product, then realloc; calling the real one would come back here. */
void *reallocarray(void *block, size_t count, size_t bytes)
{
    size_t total;
    if (__builtin_mul_overflow(count, bytes, &total)) {
        errno = ENOMEM;
        return NULL;
    }
    return resize(block, total, CALLER);
}

void free(void *block)
{
    if (block == NULL || is_bootstrap(block))
        return;
    struct writer *w = begin_call();
    if (w != NULL) {
        sample_block(w, block);
        put_event(w, SPOOL_FREE, block, 0);
    }
    real.free(block);
    if (w != NULL)
        end_call(w);
}

void cfree(void *block)
{
    free(block);
}

void free_sized(void *block, size_t bytes)
{
    if (block == NULL || is_bootstrap(block))
        return;
    struct writer *w = begin_call();
    if (w != NULL) {
        sample_block(w, block);
        put_event(w, SPOOL_FREE_SIZED, block, bytes);
    }
    real.free_sized(block, bytes);
    if (w != NULL)
        end_call(w);
}

void free_aligned_sized(void *block, size_t alignment, size_t bytes)
{
    if (block == NULL || is_bootstrap(block))
        return;
    struct writer *w = begin_call();
    if (w != NULL) {
        sample_block(w, block);
        put_aligned(w, SPOOL_FREE_SIZED, block, alignment, bytes, 0);
    }
    real.free_aligned_sized(block, alignment, bytes);
    if (w != NULL)
        end_call(w);
}

int posix_memalign(void **out, size_t alignment, size_t bytes)
{
    struct writer *w = begin_call();
    int status = real.posix_memalign(out, alignment, bytes);
    end_aligned(w, status == 0 ? *out : NULL, alignment, bytes, CALLER);
    return status;
}

void *aligned_alloc(size_t alignment, size_t bytes)
{
    struct writer *w = begin_call();
    return end_aligned(w, real.aligned_alloc(alignment, bytes), alignment, bytes, CALLER);
}

void *memalign(size_t alignment, size_t bytes)
{
    struct writer *w = begin_call();
    return end_aligned(w, real.memalign(alignment, bytes), alignment, bytes, CALLER);
}

void *valloc(size_t bytes)
{
    struct writer *w = begin_call();
    return end_aligned(w, real.valloc(bytes), (size_t)getpagesize(), bytes, CALLER);
}

/* Asks for whole pages, and is recorded as having asked for them. */
void *pvalloc(size_t bytes)
{
    struct writer *w = begin_call();
    size_t page = (size_t)getpagesize();
    return end_aligned(w, real.pvalloc(bytes), page, (bytes + page - 1) & ~(page - 1), CALLER);
}

size_t malloc_usable_size(void *block)
{
    return is_bootstrap(block) ? bootstrap_rest(block) : real.malloc_usable_size(block);
}

#pragma GCC visibility pop
