/* Plugins that are opened with RTLD_DEEPBIND look for a function in the libraries that they are linked to before any library
 * that is preloaded. They would have the C library's malloc, and hand its blocks to the program and the program's to it. So
 * before the first one is opened, the C library's own table of symbols gets the addresses of this library's functions. */
#define _GNU_SOURCE
#include "9_api/api.h"

#include "1_base/definitions.h"
#include "1_base/frames.h"
#include "9_api/foreign/foreign.h"
#include "2_system/locks.h"

#include <dlfcn.h>
#include <errno.h>

#if !defined HEAPSMITH_ARCHIVE && defined RTLD_DEEPBIND /* glibc has it */

static const struct {
    const char *name;
    const void *function;
} family[] = {
    { "malloc", malloc },
    { "free", free },
    { "calloc", calloc },
    { "realloc", realloc },
    { "reallocarray", reallocarray },
    { "posix_memalign", posix_memalign },
    { "aligned_alloc", aligned_alloc },
    { "memalign", memalign },
    { "valloc", valloc },
    { "pvalloc", pvalloc },
    { "malloc_usable_size", malloc_usable_size },
    { "free_sized", free_sized },
    { "free_aligned_sized", free_aligned_sized },
    { "__libc_malloc", __libc_malloc },
    { "__libc_free", __libc_free },
    { "__libc_calloc", __libc_calloc },
    { "__libc_realloc", __libc_realloc },
    { "__libc_memalign", __libc_memalign },
    { "__libc_valloc", __libc_valloc },
    { "__libc_pvalloc", __libc_pvalloc },
};

/* Only where this library's malloc is the program's. One thread at a time: the first that is done takes the right to write to the
 * pages away. */
static COLD __attribute__((noinline)) void serve_plugins(void)
{
    static bool done; /* under the lock */
    int saved = errno;
    hs_lock_pool();
    count_locks(LOCKS_OTHER);
    if (!done && definition_first("malloc").function == (void *)malloc) {
        foreign_know();
        const struct link_map *c_library = definition_next("__libc_start_main").object;
        for (size_t index = 0; c_library != NULL && index < sizeof family / sizeof family[0]; index++)
            definition_replace(c_library, family[index].name, family[index].function);
    }
    done = true;
    hs_unlock_pool();
    errno = saved;
}

__attribute__((visibility("default"))) void *dlopen(const char *file, int mode);

#ifdef __clang__
#define JUMPS
#else
#define JUMPS __attribute__((optimize("O2")))
#endif

/* A jump, so that to the dynamic linker the caller is the program's own: where it looks for the file depends on that. */
JUMPS void *dlopen(const char *file, int mode)
{
    static void *(*known)(const char *, int);
    static const char own_name[] = "dlopen"; /* an array: texts lie with what few read */
    hs_frames_stale();
    if ((mode & RTLD_DEEPBIND) != 0)
        serve_plugins();
    void *(*opens)(const char *, int) = __atomic_load_n(&known, __ATOMIC_RELAXED);
    if (opens == NULL) {
        opens = definition_next(own_name).function;
        __atomic_store_n(&known, opens, __ATOMIC_RELAXED);
    }
    return opens(file, mode);
}

#endif
