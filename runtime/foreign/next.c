/* Foreign pointers, policy next: they go to the allocator that follows in the search order of the dynamic linker. Where there
 * is none, they leak. */
#include "foreign/foreign.h"

#include "definitions.h"

#include <errno.h>
#include <stdbool.h>

/* Written by any thread that looks, each time with the same values; read once `resolved` is seen set. */
static struct {
    void (*free)(void *block);
    void *(*realloc)(void *block, size_t bytes);
    size_t (*usable)(void *block);
} next, libc;
static bool resolved;

/* An allocator that wraps the C library's calls it by the names with __libc_, which are ours too (api.c): what it hands on so
 * comes here again, and goes to the C library itself. */
static __thread bool handing_over;

static void resolve(void *next_definition, const char *name)
{
    __atomic_store_n((void **)next_definition, definition_next(name).function, __ATOMIC_RELAXED);
}

static void know(void)
{
    if (__atomic_load_n(&resolved, __ATOMIC_ACQUIRE))
        return;
    resolve(&next.free, "free");
    resolve(&next.realloc, "realloc");
    resolve(&next.usable, "malloc_usable_size");
    resolve(&libc.free, "__libc_free");
    resolve(&libc.realloc, "__libc_realloc");
    __atomic_store_n(&resolved, true, __ATOMIC_RELEASE);
}

void foreign_free(void *block)
{
    know();
    bool again = handing_over;
    void (*free_there)(void *) = again ? libc.free : next.free;
    handing_over = true;
    if (free_there != NULL)
        free_there(block);
    handing_over = again;
}

void *foreign_realloc(void *block, size_t bytes)
{
    know();
    bool again = handing_over;
    void *(*realloc_there)(void *, size_t) = again ? libc.realloc : next.realloc;
    if (realloc_there == NULL) {
        if (bytes > 0)
            errno = ENOMEM;
        return NULL;
    }
    handing_over = true;
    void *moved = realloc_there(block, bytes);
    handing_over = again;
    return moved;
}

size_t foreign_usable(void *block)
{
    know();
    return next.usable != NULL ? next.usable(block) : 0;
}
