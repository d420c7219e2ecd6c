/* Memory from the operating system: reservations, commits, mappings. Nothing here changes errno on success. */
#ifndef HEAPSMITH_OS_H
#define HEAPSMITH_OS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Address space that reads as zeros, without memory behind it until os_commit makes it writable; NULL if there is none. */
void *os_reserve_zeros(size_t bytes);

/* A word that nobody can guess: getrandom(2), or what the kernel gave the process at its start. */
uintptr_t os_random(void);

/* Address space of `bytes`, aligned, without memory behind it; NULL if there is none. */
void *os_reserve(size_t bytes, size_t alignment);

/* Bytes of address space this process may have in all (RLIMIT_AS); SIZE_MAX without a limit. */
size_t os_address_space(void);

/* Makes a part of a reservation readable and writable, widened to whole pages; its fresh pages are zero. */
bool os_commit(void *start, size_t bytes);

/* Fresh zero memory, aligned (a power of two, at least a page); NULL if there is none. */
void *os_map(size_t bytes, size_t alignment);

/* A mapping of os_map grown or shrunk, moved if need be; NULL leaves it as it was. */
void *os_remap(void *start, size_t old_bytes, size_t new_bytes);

void os_unmap(void *start, size_t bytes);

/* Makes pages of a reservation address space only again, so that no limit on memory counts them; false on failure. */
bool os_decommit(void *start, size_t bytes);

/* Asks for transparent huge pages in the range, or for none: madvise(2), MADV_HUGEPAGE and MADV_NOHUGEPAGE. */
void os_huge_pages(void *start, size_t bytes, bool wanted);

/* Gives the pages back; touched again they read as zero or, `lazily` (MADV_FREE), perhaps as they were. False (and nothing
 * done) if the OS refuses. */
bool os_release(void *start, size_t bytes, bool lazily);

#endif
