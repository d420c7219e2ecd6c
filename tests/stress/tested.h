/* The malloc under test, looked up by name, so that one program serves glibc, a preloaded library, and a library linked
 * into it under other names (-DPREFIX='"..."', which a sanitizer with a malloc of its own makes necessary). */
#ifndef STRESS_TESTED_H
#define STRESS_TESTED_H

#include <malloc.h>
#include <stddef.h>
#include <stdint.h>

struct tested {
    void *(*malloc)(size_t bytes);
    void *(*calloc)(size_t count, size_t bytes);
    void *(*realloc)(void *block, size_t bytes);
    void *(*reallocarray)(void *block, size_t count, size_t bytes);
    void *(*aligned_alloc)(size_t alignment, size_t bytes);
    int (*posix_memalign)(void **block, size_t alignment, size_t bytes);
    size_t (*malloc_usable_size)(void *block);
    char *(*strdup)(const char *text);
    void (*free)(void *block);
    void (*free_sized)(void *block, size_t bytes);                           /* NULL before C23 */
    void (*free_aligned_sized)(void *block, size_t alignment, size_t bytes); /* NULL before C23 */
    int (*malloc_trim)(size_t keep);                                         /* NULL if there is none */
    struct mallinfo2 (*mallinfo2)(void);                                     /* NULL if there is none */
    void (*check)(void);                                                     /* heapsmith's own, or NULL */
    int64_t (*locate)(const void *block);                                    /* heapsmith's own, or NULL */
};

extern struct tested tested;

/* Fills `tested`; before any thread is started. */
void look_up_tested(void);

#endif
