/* Background: a helper that tops up the transfer cache, where the design has one. */
#pragma once

#include "1_base/cold.h"
#include "3_records/heap.h"

#ifdef BACKGROUND_EVERY
void background_missed(unsigned class); /* a refill has filled the front, or a larger class lent a block: it may allocate */
void background_end(void); /* from here on there is no helper; it is in no step any more */
COLD void background_reset(void);
#else
static inline void background_missed(unsigned class)
{
    (void)class;
}

static inline void background_end(void)
{
}

static inline void background_reset(void)
{
}
#endif
