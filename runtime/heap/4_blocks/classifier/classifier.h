/* Classifier: where superslabs lie, and how free() knows a class. Under the pool lock. */
#pragma once

#include "3_records/span.h"

void classifier_set(const struct slab *slab, unsigned row); /* 1 + class from now on; 0: it has no class any more */
void classifier_mark(void *const *blocks, uint32_t count, unsigned class); /* blocks that left their slab */
void classifier_unmark(void *block);          /* it is back; what was marked is zero */
unsigned classifier_class(const void *block); /* of a block in the slab span; CLASS_COUNT or more if it is none */
