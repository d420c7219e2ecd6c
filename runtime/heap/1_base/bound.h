/* Loops that state how many rounds they make at most, and functions where the bounded part of a library ends (docs/machine-rooms.md).
 *
 * Before a loop stands ROUNDS(name), and its first statement is BOUND(name, most). `most` is a constant of the plan. In the
 * library of a bounded design BOUND leaves a mark: a nop, and its address, `most` and both texts in the section .hs_bounds,
 * which no process loads. The audit reads these marks. The checked build counts the rounds. Other designs have none of this. */
#pragma once

#include "1_base/check.h"
#include "plan.h"

#ifdef BOUNDED
#define ROUNDS(name) uint64_t name __attribute__((unused)) = 0
#define BOUND(name, most)                                                                              \
    do {                                                                                               \
        __asm__("661: nop\n\t.pushsection .hs_bounds,\"\",@progbits\n\t.8byte 661b, %c0\n\t"           \
                ".asciz \"" #name "\", \"" #most "\"\n\t.popsection" ::"i"((long)(most)));             \
        check((name)++ < (uint64_t)(most), "a loop's rounds stay within its bound: " #name);           \
    } while (0)
#define GATE __attribute__((noinline))
#else
#define ROUNDS(name) (void)0
#define BOUND(name, most) (void)0
#define GATE
#endif
