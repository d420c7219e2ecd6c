/* Functions that most processes never call: reports, checks, answers about the heap, what a fork and a lack of memory need.
 * So are those of huge blocks: most calls make a system call anyway, and few designs have many such blocks.
 *
 * GCC makes them small and puts them into a section of their own, and apart.ld lays it in pages of their own. */
#pragma once

#include <features.h>

#ifndef __GLIBC__
#error "heapsmith needs the GNU C library (glibc): with another one, such as musl, no program with this heap would run"
#endif

#define COLD __attribute__((cold))

/* Variables that most processes never touch, or only a small part of: behind those that every process touches. */
#define COLD_DATA __attribute__((section(".bss.cold")))
