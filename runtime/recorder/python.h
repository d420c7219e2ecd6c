/* Python frames of CPython 3.8 to 3.11, of which the interpreter's own C frames do not tell: read where the interpreter keeps
 * them, without a lock, an allocation or a reference of Python's. Later versions tell perf(1) of them (tools/common/perf_map.py). */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* Look for an interpreter in the objects that the program came with, while it has one thread. */
void python_find(void);

/* Whether there is one whose frames are known. */
bool python_is_known(void);

/* A hash of this thread's Python frames and of what each of them does now; 0 if no interpreter is known. */
uint64_t python_key(void);

/* `to`: these frames, with the Python frames that the interpreter ran in place of its own; `tops`: the stack pointer in each frame.
 * Returns how many, at most STACK_DEPTH; 0 if there are no Python frames. Later frames are left out. */
uint32_t python_frames(const uint64_t *frames, const uint64_t *tops, uint32_t depth, uint64_t *to);

/* Forget what has been told of the parent image. */
void python_reset(void);
