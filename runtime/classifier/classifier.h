/* Classifier: where superslabs lie, and how free() knows a class. Under the pool lock. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "span.h"

void classifier_adopt(const struct slab *slab); /* the slab now has its class */
void classifier_retire(const struct slab *slab); /* the slab has no class any more */
void classifier_mark(void *const *blocks, uint32_t count, unsigned class); /* blocks that left their slab */
void classifier_unmark(void *block);          /* it is back; what was marked is zero */
unsigned classifier_class(const void *block); /* of a block in the slab span; CLASS_COUNT or more if it is none */
