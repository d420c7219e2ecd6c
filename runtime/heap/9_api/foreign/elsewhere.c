/* The allocator that follows in the search order of the dynamic linker, looked up once it is needed. */
#include "9_api/foreign/elsewhere.h"

#include "1_base/bound.h"
#include "1_base/definitions.h"

#include <errno.h>

/* As <malloc.h> has it since glibc 2.33: mallinfo2. */
struct told {
    size_t arena, ordblks, smblks, hblks, hblkhd, others[5];
};

/* Written by whichever thread looks first; read once `resolved` is seen set. */
static struct {
    void (*free)(void *block);
    void *(*realloc)(void *block, size_t bytes);
    size_t (*usable)(void *block);
    struct told (*tell)(void); /* NULL: it does not */
} next, libc;
static bool resolved;

static bool has_memory; /* once it had */

/* An allocator that wraps the C library's calls it by the names with __libc_, which are ours too (api.c): what it hands on so
 * comes here again, and goes to the C library itself. */
static __thread bool handing_over;

/* The first answer stays: once the names lead to this library (deepbind.c), a thread that still looks would have another. */
static const struct link_map *resolve(void *function, const char *name)
{
    struct definition found = definition_next(name);
    void *none = NULL;
    __atomic_compare_exchange_n((void **)function, &none, found.function, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE);
    return found.object;
}

void elsewhere_know(void)
{
    if (__atomic_load_n(&resolved, __ATOMIC_ACQUIRE))
        return;
    const struct link_map *object = resolve(&next.free, "free");
    resolve(&next.realloc, "realloc");
    resolve(&next.usable, "malloc_usable_size");
    resolve(&libc.free, "__libc_free");
    resolve(&libc.realloc, "__libc_realloc");
    if (resolve(&libc.tell, "mallinfo2") == object)
        __atomic_store_n(&next.tell, libc.tell, __ATOMIC_RELAXED);
    __atomic_store_n(&resolved, true, __ATOMIC_RELEASE);
}

bool elsewhere_in_use(void)
{
    elsewhere_know();
    if (next.free == NULL || __atomic_load_n(&has_memory, __ATOMIC_RELAXED))
        return next.free != NULL;
    bool has = true;
    if (next.tell != NULL) {
        struct told told = next.tell();
        has = told.arena + told.hblkhd > 0;
    }
    if (has)
        __atomic_store_n(&has_memory, true, __ATOMIC_RELAXED);
    return has;
}

void elsewhere_free(void *block)
{
    elsewhere_know();
    bool again = handing_over;
    void (*free_there)(void *) = again ? libc.free : next.free;
    handing_over = true;
    if (free_there != NULL)
        free_there(block);
    handing_over = again;
}

GATE void *elsewhere_realloc(void *block, size_t bytes)
{
    elsewhere_know();
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

GATE size_t elsewhere_usable(void *block)
{
    elsewhere_know();
    return next.usable != NULL ? next.usable(block) : 0;
}
