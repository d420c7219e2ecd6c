/* One call outwards along the stack by the tables of .eh_frame (DWARF 5, 6.4), for the three registers that a plain frame needs. What
 * it does not know, such as frames of signals, it leaves to libgcc. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* A call that has not returned: its return address, and the stack's top and the frame's base after the return. */
struct called {
    uintptr_t place, top, base;
    bool has_base;
};

/* The mapped file of the last frame, as the dynamic linker knows it; all zeros: none yet. */
struct frames_of_file {
    uintptr_t start, end;
    const uint8_t *index; /* .eh_frame_hdr */
};

enum outwards { CALLED_FROM, OUTERMOST, NOT_KNOWN };

/* NOT_KNOWN: `call` is as before. */
enum outwards hs_call_outwards(struct called *call, struct frames_of_file *file);

/* Makes `file` that of a place; false if no file with tables has it. */
bool hs_frames_of(struct frames_of_file *file, uintptr_t place);

extern uint64_t hs_frames_generation;

/* Code may come to lie where other code lay: forget what the tables told. Inline, for each dlopen(3) comes here, and no page of
 * cold code is to be read for it. */
static inline void hs_frames_stale(void)
{
    __atomic_fetch_add(&hs_frames_generation, 1, __ATOMIC_RELAXED);
}
