/* Memory from the operating system: ranges of address space and what is committed of them, mappings, release. Nothing here
 * changes errno on success. */
#pragma once

#include "1_base/cold.h"
#include "1_base/page.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The arena is address space for all ranges, far from where the system places mappings. While os_reserving it is mapped
 * without access, so that nobody else is placed there. A limit on address space (RLIMIT_AS) counts what is mapped, used or
 * not: under a limit only what is committed is mapped. Written before the library has started, and under the pool lock and
 * the large lock together; who holds neither reads it atomically. */
extern bool os_reserving;

/* A limit counts what is writable: the first SPARED_BYTES of slabs, and of runs, become so a few pages at a time,
 * and later ones where the system refuses more. Written as os_reserving is. */
extern bool os_sparing;
enum { SPARED_BYTES = 1 << 24 };

/* Why this thread's last request for memory failed: the system refused (true), or its span has no room. */
extern __thread bool os_refused;

/* A part of a range. Parts of one table follow each other without a gap, and the first begins on a page. */
struct os_part {
    void *start;
    size_t bytes;
};

bool os_limited(void); /* is there a limit on address space? */

/* Finds the arena of `bytes` and reserves it unless there is a limit. False if there is no room: the caller may try again. */
bool os_arena(size_t bytes);

/* The next range of the arena, whole pages, aligned (a power of two, at least a page). */
void *os_range(size_t bytes, size_t alignment);

/* From now on nothing is reserved that is no range; bytes that are unmapped. The ranges are the caller's. */
COLD size_t os_unreserve(void);

/* What is reserved of a range reads as zeros. */
void os_readable(void *start, size_t bytes);

/* Makes the parts readable and writable, the last first; fresh pages are zero. If it refuses, none is kept, but while
 * os_reserving those behind the refused one stay writable: so the first is the largest. A page that a part shares with the
 * part before it in its table was committed with that one. While os_reserving it refuses as soon as there is a limit. */
bool os_commit_all(const struct os_part *part, size_t parts);

/* The same for whole pages. */
bool os_commit(void *start, size_t bytes);

/* Makes whole pages readable and writable that have no access and hold nothing: by mprotect(2) or, where a sandbox forbids that,
 * by a mapping in their place. */
bool os_allow(void *start, size_t bytes);

/* Whole pages are address space only again, so that no limit counts them (a limit on address space: once that it is known);
 * false on failure. */
bool os_decommit(void *start, size_t bytes);

/* Whole pages are address space only again, and nobody else is placed there; false on failure. */
bool os_reserve(void *start, size_t bytes);

/* Unmaps parts that are reserved and not committed; bytes. */
COLD size_t os_unmap_all(const struct os_part *part, size_t parts);

/* Address space that counts and that nobody uses, if there is so much. */
COLD void os_hold(size_t bytes);

/* A word that nobody can guess: getrandom(2), or what the kernel gave the process at its start. */
uintptr_t os_random(void);

/* Fresh zero memory, aligned (a power of two, at least a page); NULL if there is none. */
void *os_map(size_t bytes, size_t alignment);

/* A mapping of os_map grown or shrunk, moved if need be; NULL leaves it as it was. */
void *os_remap(void *start, size_t old_bytes, size_t new_bytes);

/* Pages of a range go to a mapping of their own: what they held is there, and where they were reads as zero. NULL: refused,
 * and all is as before. */
void *os_move(void *start, size_t bytes);

/* As memcpy, but zeros are not written to a page that reads as zero: what nobody touched stays so. */
void os_copy(void *to, const void *from, size_t bytes);

void os_unmap(void *start, size_t bytes);

/* Asks for transparent huge pages in the range, or for none: madvise(2), MADV_HUGEPAGE and MADV_NOHUGEPAGE. */
void os_huge_pages(void *start, size_t bytes, bool wanted);

/* How many of these pages this process has written, on its own and not shared since a fork; 0 if the system does not tell. */
COLD unsigned os_written(const void *const *page, unsigned pages);

/* Makes whole pages resident that hold nothing: a byte of each may change. */
void os_populate(void *start, size_t bytes);

/* Gives the pages back; touched again they read as zero or, `lazily` (MADV_FREE), perhaps as they were. False (and nothing
 * done) if the OS refuses. */
bool os_release(void *start, size_t bytes, bool lazily);
