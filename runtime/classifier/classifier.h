/* Classifier: where superslabs lie, and how free() knows a class. Under the pool lock. */
#ifndef HEAPSMITH_CLASSIFIER_H
#define HEAPSMITH_CLASSIFIER_H

#include <stddef.h>
#include <stdint.h>

#include "span.h"

#pragma GCC visibility push(hidden)

size_t classifier_span(unsigned halvings); /* the slab span's bytes when it is halved so often; 0: too little */
size_t classifier_place(unsigned class); /* offset of the next superslab; SIZE_MAX when the span is used up */
void classifier_placed(unsigned class);  /* that superslab was mapped; before hs_count counts it */
void classifier_adopt(const struct slab *slab); /* the slab now has its class */
void classifier_retire(const struct slab *slab); /* the slab has no class any more */
void classifier_mark(void *const *blocks, uint32_t count, unsigned class); /* blocks that left their slab */
void classifier_unmark(void *block);          /* it is back; what was marked is zero */
unsigned classifier_class(const void *block); /* of a block in the slab span; CLASS_COUNT or more if it is none */
void classifier_reset(void); /* checked build; before the counters are reset */

#pragma GCC visibility pop

#endif
