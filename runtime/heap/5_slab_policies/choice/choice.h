/* Slab choice: which slab serves. */
#pragma once

#include "3_records/span.h"

struct slab *choice_gives(struct class_slabs *slabs);
void choice_attach(struct class_slabs *slabs, struct slab *slab);
void choice_remove(struct class_slabs *slabs, struct slab *slab);
void choice_add(struct class_slabs *slabs, struct slab *slab);
bool choice_lets_go(const struct class_slabs *slabs, const struct slab *slab);
