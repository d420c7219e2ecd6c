/* The set of all live bytes, kept in memory from mmap: no two live blocks may share one. */
#ifndef STRESS_INTERVALS_H
#define STRESS_INTERVALS_H

#include <stddef.h>
#include <stdint.h>

/* Adds [start, start + bytes). Returns 0, or the address of a granule that was in the set already. */
uintptr_t claim(const void *start, size_t bytes);

/* Takes [start, start + bytes) away. Returns 0, or the address of a granule that was not in the set. */
uintptr_t disclaim(const void *start, size_t bytes);

#endif
