/* The malloc family that the program would have had without the recorder. */
#pragma once

#include <stddef.h>

/* The functions that the C library also has by names with __libc_ before them. */
struct real_basis {
    void *(*malloc)(size_t bytes);
    void *(*calloc)(size_t count, size_t bytes);
    void *(*realloc)(void *block, size_t bytes);
    void (*free)(void *block);
    void *(*memalign)(size_t alignment, size_t bytes);
    void *(*valloc)(size_t bytes);
    void *(*pvalloc)(size_t bytes);
};

struct real_family {
    struct real_basis plain;
    struct real_basis libc; /* by the names with __libc_: those of a malloc that wraps the C library's end there */
    int (*posix_memalign)(void **out, size_t alignment, size_t bytes);
    void *(*aligned_alloc)(size_t alignment, size_t bytes);
    size_t (*malloc_usable_size)(void *block);
    size_t (*sampled_size)(void *block); /* the same if it is of malloc's own library, else 0 for all blocks */
    void (*free_sized)(void *block, size_t bytes);
    void (*free_aligned_sized)(void *block, size_t alignment, size_t bytes);
};

extern struct real_family real __attribute__((visibility("hidden")));

/* Look every function up behind this library. Called once, in the first call, while no call is recorded. */
void real_resolve(void);
