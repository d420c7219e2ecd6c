/* Bump over further levels: the slow paths. */
#pragma once

#include "8_threads/front/bump.h"

void *bump_over_refill(struct heap *heap, unsigned class);
void bump_over_free(struct heap *heap, unsigned class, void *block);
void bump_over_drain(struct heap *heap, unsigned class);
