/* Finding the real malloc family, and the static buffer that serves while it is being found. */
#define _GNU_SOURCE
#include "real.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdint.h>

enum { BOOTSTRAP_BYTES = 16 * 1024, BOOTSTRAP_ALIGN = 16 };

static _Alignas(64) char bootstrap[BOOTSTRAP_BYTES];
static size_t bootstrap_used;

bool is_bootstrap(const void *block)
{
    return (uintptr_t)block - (uintptr_t)bootstrap < BOOTSTRAP_BYTES;
}

size_t bootstrap_rest(const void *block)
{
    return BOOTSTRAP_BYTES - ((uintptr_t)block - (uintptr_t)bootstrap);
}

/* A bump; the process has one thread then, and the buffer starts as zeros. */
static void *bootstrap_memalign(size_t alignment, size_t bytes)
{
    size_t start = (bootstrap_used + alignment - 1) & ~(alignment - 1);
    if (bytes > BOOTSTRAP_BYTES || start > BOOTSTRAP_BYTES - bytes) {
        errno = ENOMEM;
        return NULL;
    }
    bootstrap_used = start + bytes;
    return bootstrap + start;
}

static void *bootstrap_malloc(size_t bytes)
{
    return bootstrap_memalign(BOOTSTRAP_ALIGN, bytes);
}

static void *bootstrap_calloc(size_t count, size_t bytes)
{
    size_t total;
    if (__builtin_mul_overflow(count, bytes, &total))
        total = SIZE_MAX;
    return bootstrap_malloc(total);
}

static void *bootstrap_realloc(void *block, size_t bytes)
{
    char *moved = bootstrap_malloc(bytes);
    size_t rest = block == NULL ? 0 : bootstrap_rest(block);
    if (moved != NULL)
        __builtin_memcpy(moved, block, bytes < rest ? bytes : rest);
    return moved;
}

static void bootstrap_free(void *block)
{
    (void)block;
}

static void free_sized_by_free(void *block, size_t bytes)
{
    (void)bytes;
    real.free(block);
}

static void free_aligned_sized_by_free(void *block, size_t alignment, size_t bytes)
{
    (void)alignment;
    (void)bytes;
    real.free(block);
}

struct real_family real = {
    .malloc = bootstrap_malloc,
    .calloc = bootstrap_calloc,
    .realloc = bootstrap_realloc,
    .free = bootstrap_free,
    .free_sized = free_sized_by_free,
    .free_aligned_sized = free_aligned_sized_by_free,
};

/* Leave `*function` as it is when no library behind this one has `name`. */
static void resolve(void *function, const char *name)
{
    void *found = dlsym(RTLD_NEXT, name);
    if (found != NULL)
        __builtin_memcpy(function, &found, sizeof found);
}

static bool is_of(void *function, const void *object)
{
    Dl_info found;
    return dladdr(function, &found) != 0 && found.dli_fbase == object;
}

static size_t unknown_size(void *block)
{
    (void)block;
    return 0;
}

/* A malloc may lack malloc_usable_size; libc's would read its blocks as its own. */
static void resolve_sizes(void)
{
    Dl_info found;
    bool known = dladdr((void *)real.malloc, &found) != 0 && is_of((void *)real.malloc_usable_size, found.dli_fbase);
    real.sampled_size = known ? real.malloc_usable_size : unknown_size;
}

void real_resolve(void)
{
    resolve(&real.malloc, "malloc");
    resolve(&real.free, "free");
    resolve(&real.calloc, "calloc");
    resolve(&real.realloc, "realloc");
    resolve(&real.posix_memalign, "posix_memalign");
    resolve(&real.aligned_alloc, "aligned_alloc");
    resolve(&real.memalign, "memalign");
    resolve(&real.valloc, "valloc");
    resolve(&real.pvalloc, "pvalloc");
    resolve(&real.malloc_usable_size, "malloc_usable_size");
    resolve(&real.free_sized, "free_sized");
    resolve(&real.free_aligned_sized, "free_aligned_sized");
    resolve_sizes();
    /* A failed look-up leaves a message in the heap: read it twice to have it freed now, unrecorded like its birth. */
    dlerror();
    dlerror();
}
