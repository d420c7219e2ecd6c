/* 64-bit Arm. */
#pragma once

#include "1_base/arch/plain.h"

static inline void arch_pause(void)
{
    __asm__ volatile("isb" : : : "memory"); /* yield is a nop on most */
}

/* A clock of all processors. No access before it is still under way, and no instruction behind it has begun. */
static inline uint64_t arch_clock(void)
{
    uint64_t now;
    __asm__ volatile("dsb ish\n\tisb\n\tmrs %0, cntvct_el0\n\tisb" : "=r"(now) : : "memory");
    return now;
}

/* The same, and the processor: the clock has one pace on all of them, so one number does. */
static inline uint64_t arch_stamp(uint32_t *place)
{
    *place = 0;
    return arch_clock();
}

/* Where a fault of these two is handled (8_threads/front/prepared.c), the context has the block where it is passed or returned. */
static inline void *arch_load_below(void **top)
{
    register void *block __asm__("x0");
    __asm__("ldr %0, [%1, #-8]" : "=r"(block) : "r"(top) : "memory");
    return block;
}

static inline void arch_store_at(void **top, void *block)
{
    register void *passed __asm__("x0") = block;
    __asm__("str %1, [%0]" : : "r"(top), "r"(passed) : "memory");
}

/* Of a ucontext_t: the instruction, and the first two arguments of a function that is called there. */
#define CONTEXT_INSTRUCTION(context) ((context)->uc_mcontext.pc)
#define CONTEXT_FIRST(context) ((context)->uc_mcontext.regs[0])
#define CONTEXT_SECOND(context) ((context)->uc_mcontext.regs[1])

/* In unwind information: the registers of a frame's base and of the stack's top, and the return address
 * (DWARF for the Arm 64-bit Architecture, 4.1). */
enum { ARCH_FRAME_BASE = 29, ARCH_FRAME_TOP = 31, ARCH_FRAME_RETURN = 30 };

/* The frame's base in the caller of a function. */
#define ARCH_CALLER_BASE (*(const uintptr_t *)__builtin_frame_address(0))
