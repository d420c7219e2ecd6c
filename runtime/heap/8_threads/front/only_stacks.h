/* The refill of a class in a heap whose fronts are all array stacks. */
#pragma once

#include "8_threads/front/array_stack.h"

static inline void *only_stack_refill(struct heap *heap, unsigned class)
{
    return array_stack_refill(heap, class);
}
