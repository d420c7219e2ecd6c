/* Segregation "sites": the groups of calls, and the classes of their blocks. */
#pragma once

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
