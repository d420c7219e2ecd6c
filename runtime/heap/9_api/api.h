/* The exported symbols: the whole malloc family, and what heapsmith's own tools ask of a library. */
#pragma once

#include "1_base/cold.h"

#include <stddef.h>
#include <stdint.h>

#pragma GCC visibility push(default)

void *malloc(size_t bytes);
void free(void *block);
void *calloc(size_t count, size_t bytes);
void *realloc(void *block, size_t bytes);
void *reallocarray(void *block, size_t count, size_t bytes);
COLD void cfree(void *block);
int posix_memalign(void **block, size_t alignment, size_t bytes);
void *aligned_alloc(size_t alignment, size_t bytes);
void *memalign(size_t alignment, size_t bytes);
COLD void *valloc(size_t bytes);
COLD void *pvalloc(size_t bytes);
size_t malloc_usable_size(void *block);
void free_sized(void *block, size_t bytes);
void free_aligned_sized(void *block, size_t alignment, size_t bytes);
/* The names by which programs reach the C library's malloc past a malloc of their own. */
void *__libc_malloc(size_t bytes);
void __libc_free(void *block);
void *__libc_calloc(size_t count, size_t bytes);
void *__libc_realloc(void *block, size_t bytes);
void *__libc_memalign(size_t alignment, size_t bytes);
COLD void *__libc_valloc(size_t bytes);
COLD void *__libc_pvalloc(size_t bytes);
COLD void __libc_cfree(void *block);
COLD int __posix_memalign(void **block, size_t alignment, size_t bytes);
#ifndef HEAPSMITH_ARCHIVE
COLD int __register_atfork(void (*before)(void), void (*in_parent)(void), void (*in_child)(void), void *object);
#endif

/* "NAME HASH" of the design. */
COLD const char *heapsmith_design(void);
/* 1 in the checked build. */
COLD int heapsmith_checked(void);
/* How many counters heapsmith_counters writes: the global ones of docs/machine.md in its order, then each class's. */
COLD size_t heapsmith_counter_count(void);
/* Sums over all heaps; exact while no other thread allocates or frees. */
COLD void heapsmith_counters(uint64_t *counters);
/* Address code of a block (docs/machine.md, 'address space'); -1 if the block is not ours. */
COLD int64_t heapsmith_locate(const void *block);
/* Checked build: walks the heap, aborts with the equation that does not hold. Needs all other threads idle. */
COLD void heapsmith_check(void);
/* Checked build: the heap as it was before the first allocation, with at most so much of each span to use (of the slab span a
 * superslab per region at least). Needs all other threads ended. */
COLD void heapsmith_reset(size_t span_bytes);

#pragma GCC visibility pop

/* What the emitted free leaves to api.c: large blocks, NULL, and pointers that are not ours. */
void hs_free_large(void *block);
