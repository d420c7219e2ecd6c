/* Foreign pointers, policy next: they go to the allocator that follows in the search order of the dynamic linker, once it is
 * known. They leak while a thread looks for it (dlsym may free) and where there is none. */
#define _GNU_SOURCE
#include "foreign/foreign.h"

#include "api.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdbool.h>

/* Written by any thread that looks, each time with the same values; read once `resolved` is seen set. */
static struct {
    void (*free)(void *block);
    void *(*realloc)(void *block, size_t bytes);
    size_t (*usable)(void *block);
} next;
static bool resolved;
static __thread bool resolving;

/* The next definition of a function; NULL if there is none but our own. */
static void resolve(void **next_definition, const char *name, const void *ours)
{
    void *found = dlsym(RTLD_NEXT, name);
    __atomic_store_n(next_definition, found != ours ? found : NULL, __ATOMIC_RELAXED);
}

/* True if `next` may be used. */
static bool known(void)
{
    if (__atomic_load_n(&resolved, __ATOMIC_ACQUIRE))
        return true;
    if (resolving)
        return false;
    int saved = errno;
    resolving = true;
    resolve((void **)&next.free, "free", (void *)free);
    resolve((void **)&next.realloc, "realloc", (void *)realloc);
    resolve((void **)&next.usable, "malloc_usable_size", (void *)malloc_usable_size);
    __atomic_store_n(&resolved, true, __ATOMIC_RELEASE);
    resolving = false;
    errno = saved;
    return true;
}

void foreign_free(void *block)
{
    if (known() && next.free != NULL)
        next.free(block);
}

void *foreign_realloc(void *block, size_t bytes)
{
    if (known() && next.realloc != NULL)
        return next.realloc(block, bytes);
    if (bytes > 0)
        errno = ENOMEM;
    return NULL;
}

size_t foreign_usable(void *block)
{
    return known() && next.usable != NULL ? next.usable(block) : 0;
}
