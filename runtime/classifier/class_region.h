/* Classifier "class region": what the emitted free reads. */
#ifndef HEAPSMITH_CLASSIFIER_CLASS_REGION_H
#define HEAPSMITH_CLASSIFIER_CLASS_REGION_H

#include <stdint.h>

#pragma GCC visibility push(hidden)

extern uint8_t hs_region_shift; /* a block's class is its offset in the span, shifted right so far */

#pragma GCC visibility pop

#endif
