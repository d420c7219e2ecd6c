/* Static probes of samples for tracers (bpftrace, perf, gdb, SystemTap): a nop each, and a note that says where it is, where its
 * arguments are, and where its semaphore is (https://sourceware.org/systemtap/wiki/UserSpaceProbeImplementation). Nothing is called
 * for them, and no semaphore is tested: that would take more than the nop, and hide the probe from tracers that know of none. */
#pragma once

#include <stdint.h>

/* How many tracers attach to a probe: written by the kernel or by them. */
#define SEMAPHORE(name) \
    __attribute__((section(".probes"), used, visibility("hidden"))) uint16_t otel_memory_##name##_semaphore

SEMAPHORE(alloc);
SEMAPHORE(free);

/* Notes hold link-time addresses; tools take the difference to this section's from them. */
#define PROBE_BASE                                                                     \
    ".ifndef _.stapsdt.base\n"                                                         \
    ".pushsection .stapsdt.base,\"aG\",@progbits,.stapsdt.base,comdat\n"               \
    ".weak _.stapsdt.base\n.hidden _.stapsdt.base\n_.stapsdt.base: .space 1\n"         \
    ".size _.stapsdt.base, 1\n.popsection\n.endif\n"

#define PROBE(name, arguments)                                                         \
    "990: nop\n.pushsection .note.stapsdt,\"\",@note\n.balign 4\n"                     \
    ".long 992f - 991f, 994f - 993f, 3\n991: .asciz \"stapsdt\"\n992: .balign 4\n"     \
    "993: .8byte 990b, _.stapsdt.base, otel_memory_" name "_semaphore\n"               \
    ".asciz \"otel_memory\"\n.asciz \"" name "\"\n.asciz \"" arguments "\"\n"          \
    "994: .balign 4\n.popsection\n" PROBE_BASE

/* A block of `bytes` is a sample, which stands for `weighted` bytes. */
#define PROBE_ALLOC(block, bytes, weighted)                                            \
    __asm__ volatile(PROBE("alloc", "8@%0 8@%1 8@%2") : : "nor"(block), "nor"(bytes), "nor"(weighted))

/* A sample is freed. */
#define PROBE_FREE(block) __asm__ volatile(PROBE("free", "8@%0") : : "nor"(block))
