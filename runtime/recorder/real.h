/* The malloc family that the program would have had without the recorder. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/* Until real_resolve has run, these serve from a small static buffer: dlsym itself allocates. */
struct real_family {
    void *(*malloc)(size_t bytes);
    void *(*calloc)(size_t count, size_t bytes);
    void *(*realloc)(void *block, size_t bytes);
    void (*free)(void *block);
    int (*posix_memalign)(void **out, size_t alignment, size_t bytes);
    void *(*aligned_alloc)(size_t alignment, size_t bytes);
    void *(*memalign)(size_t alignment, size_t bytes);
    void *(*valloc)(size_t bytes);
    void *(*pvalloc)(size_t bytes);
    size_t (*malloc_usable_size)(void *block);
    size_t (*sampled_size)(void *block); /* the same if it is of malloc's own library, else 0 for all blocks */
    void (*free_sized)(void *block, size_t bytes);
    void (*free_aligned_sized)(void *block, size_t alignment, size_t bytes);
};

extern struct real_family real;

/* Look every function up behind this library (dlsym RTLD_NEXT). Called once, while no call is recorded. */
void real_resolve(void);

/* Whether `block` came from the static buffer; such a block is never freed. */
bool is_bootstrap(const void *block);

/* Bytes from `block` to the end of the static buffer: what a copy of it may read. */
size_t bootstrap_rest(const void *block);
