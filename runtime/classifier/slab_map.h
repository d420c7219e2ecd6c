/* Classifier "slab map": what the emitted free reads. */
#ifndef HEAPSMITH_CLASSIFIER_SLAB_MAP_H
#define HEAPSMITH_CLASSIFIER_SLAB_MAP_H

#include <stdint.h>

#include "plan.h"

#pragma GCC visibility push(hidden)

extern uint8_t hs_slab_class[SPAN_SLABS]; /* 1 + class; 0 where no class lives */

#pragma GCC visibility pop

#endif
