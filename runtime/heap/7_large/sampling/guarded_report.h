/* What is said of the misuse of a guarded block, by a handler of faults or by the call that finds it (docs/hardening.md). */
#pragma once

#include "1_base/call_stack.h"
#include "1_base/cold.h"

#define GUARDED_AFTER_FREE "use after free"
#define GUARDED_OVERFLOW "overflow"
#define GUARDED_UNDERFLOW "underflow"
#define GUARDED_TWICE "double free"
#define GUARDED_MIDDLE "not the start of a block"

/* From now on a fault in the slots is reported, and then handled as the program wants. The handler is behind one that the program
 * installs later, but takes the place of the first such. */
COLD void guarded_report_faults(void);

/* A call found it: the report, and the end of the program by abort(3). */
COLD void guarded_misused(const char *kind, uintptr_t address, const struct call_stack *stack) __attribute__((noreturn));
