/* Segregation "off": no size is apart. */
#pragma once

#include <stdlib.h>

enum { SIZED_CLASSES = CLASS_COUNT };

static inline void *hs_malloc_from(size_t bytes, const void *caller)
{
    (void)caller;
    return malloc(bytes);
}

static inline size_t hs_row_of_size(unsigned class)
{
    return 1 + (size_t)class;
}

static inline const struct class_plan *hs_sized_plan(const struct class_plan *plan)
{
    return plan;
}
