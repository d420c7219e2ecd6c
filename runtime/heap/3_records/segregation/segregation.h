/* Segregation: the class of a call of malloc, where the design tells sites apart (docs/machine.md section 2).
 *
 * A class is *apart* if some group of sites has a class of its own for the size. Such a size has no row in heap.row_of: what
 * asks for it misses, and the caller then tells the row. So malloc of other sizes does not look at its caller. */
#pragma once

#include "3_records/api.h"
#include "3_records/heap.h"

#ifdef SITE_GROUPS
struct site {
    uint64_t offset; /* of the last byte of the call, in the module's file */
    uint32_t module;
    uint32_t group;
};

/* Emitted. */
extern const uint32_t hs_sized_row[CLASS_COUNT]; /* the row by class of a size; 0: apart */
extern const uint8_t hs_group_class[1 + SITE_GROUPS][SIZED_CLASSES]; /* the class by group and class of a size */
extern const struct site hs_site[SITE_COUNT];
extern const char *const hs_module[SITE_MODULES]; /* build ids, in hexadecimal digits */
void *hs_malloc_from(size_t bytes, const void *caller); /* malloc as called from there */

size_t hs_row_of_call(unsigned class, const void *caller); /* of a class of a size; the call returns there */

/* The row of a class of a size: 0, the empty row, where the size is apart. */
static inline size_t hs_row_of_size(unsigned class)
{
    return hs_sized_row[class];
}

/* The plan of the class of a class's size alone. */
static inline const struct class_plan *hs_sized_plan(const struct class_plan *plan)
{
    return &hs_class[size_to_class(plan->usable)];
}
#else
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
#endif
