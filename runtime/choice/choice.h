/* Slab choice: which slab serves. */
#ifndef HEAPSMITH_CHOICE_H
#define HEAPSMITH_CHOICE_H

#include <stdbool.h>

#include "span.h"

#pragma GCC visibility push(hidden)

struct slab *choice_gives(struct class_slabs *slabs);
void choice_attach(struct class_slabs *slabs, struct slab *slab);
void choice_remove(struct class_slabs *slabs, struct slab *slab);
void choice_add(struct class_slabs *slabs, struct slab *slab);
bool choice_lets_go(const struct class_slabs *slabs, const struct slab *slab);

#pragma GCC visibility pop

#endif
