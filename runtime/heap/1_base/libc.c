/* What glibc has and other C libraries lack: memmove and memset under names that this library does not define itself. */
#define _GNU_SOURCE
#include "1_base/libc.h"

#include "1_base/definitions.h"

#include <string.h>

#ifndef __GLIBC__

/* The one behind this library's own, if that has one; a static program has one alone. */
static void *next_of(const char *name, void *only)
{
    void *found = definition_next(name).function;
    return found != NULL ? found : only;
}

void *hs_copy_any(void *to, const void *from, size_t bytes, size_t room)
{
    static __typeof(memmove) *known;
    __typeof(memmove) *moves = __atomic_load_n(&known, __ATOMIC_RELAXED);
    if (moves == NULL)
        __atomic_store_n(&known, moves = next_of("memmove", memmove), __ATOMIC_RELAXED);
    return moves(to, from, bytes);
}

void *hs_fill_any(void *start, int byte, size_t bytes, size_t room)
{
    static __typeof(memset) *known;
    __typeof(memset) *fills = __atomic_load_n(&known, __ATOMIC_RELAXED);
    if (fills == NULL)
        __atomic_store_n(&known, fills = next_of("memset", memset), __ATOMIC_RELAXED);
    return fills(start, byte, bytes);
}

#endif
