/* Finding the real malloc family, without a call of the dynamic linker or the C library: the program may hold their locks. */
#include "real.h"

#include <stdbool.h>

#include "../heap/1_base/definitions.h"

static void free_sized_by_free(void *block, size_t bytes)
{
    (void)bytes;
    real.plain.free(block);
}

static void free_aligned_sized_by_free(void *block, size_t alignment, size_t bytes)
{
    (void)alignment;
    (void)bytes;
    real.plain.free(block);
}

struct real_family real = {
    .free_sized = free_sized_by_free,
    .free_aligned_sized = free_aligned_sized_by_free,
};

/* Leave `*function` as it is when no library behind this one has `name`; the library that has it. */
static const struct link_map *resolve(void *function, const char *name)
{
    struct definition found = definition_next(name);
    if (found.function != NULL)
        __builtin_memcpy(function, &found.function, sizeof found.function);
    return found.object;
}

static size_t unknown_size(void *block)
{
    (void)block;
    return 0;
}

void real_resolve(void)
{
    const struct link_map *object = resolve(&real.plain.malloc, "malloc");
    resolve(&real.plain.free, "free");
    resolve(&real.plain.calloc, "calloc");
    resolve(&real.plain.realloc, "realloc");
    resolve(&real.plain.memalign, "memalign");
    resolve(&real.plain.valloc, "valloc");
    resolve(&real.plain.pvalloc, "pvalloc");
    real.libc = real.plain;
    resolve(&real.libc.malloc, "__libc_malloc");
    resolve(&real.libc.free, "__libc_free");
    resolve(&real.libc.calloc, "__libc_calloc");
    resolve(&real.libc.realloc, "__libc_realloc");
    resolve(&real.libc.memalign, "__libc_memalign");
    resolve(&real.libc.valloc, "__libc_valloc");
    resolve(&real.libc.pvalloc, "__libc_pvalloc");
    resolve(&real.posix_memalign, "posix_memalign");
    resolve(&real.aligned_alloc, "aligned_alloc");
    resolve(&real.free_sized, "free_sized");
    resolve(&real.free_aligned_sized, "free_aligned_sized");
    /* A malloc may lack malloc_usable_size; libc's would read its blocks as its own. */
    bool known = resolve(&real.malloc_usable_size, "malloc_usable_size") == object;
    real.sampled_size = known ? real.malloc_usable_size : unknown_size;
}
