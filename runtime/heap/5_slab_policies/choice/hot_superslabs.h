/* Slab choice "hot superslabs": what it reports of each class. */
#pragma once

#include "1_base/text.h"

COLD void choice_report(struct text *out);
COLD void choice_reset(void); /* checked build */
