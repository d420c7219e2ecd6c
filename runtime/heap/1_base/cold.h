/* Functions that most processes never call: reports, checks, answers about the heap, what a fork and a lack of memory need.
 * So are those of huge blocks: most calls make a system call anyway, and few designs have many such blocks.
 *
 * GCC makes them small and puts them into a section of their own, and apart.ld lays it in pages of their own. */
#pragma once

#define COLD __attribute__((cold))

/* Variables that most processes never touch, or only a small part of: behind those that every process touches. */
#define COLD_DATA __attribute__((section(".bss.cold")))

/* Tables without addresses that a process reads for a report alone, or that another process reads. */
#define COLD_TABLE __attribute__((section(".rodata.cold")))

/* A slow path of a fast function, which saves no registers for it. */
#define APART __attribute__((noinline))

/* Part of a fast path, whatever the compiler thinks of its length. */
#define INLINED inline __attribute__((always_inline))
