/* Definitions in the loaded objects, as dlsym(3) finds them, but without a lock and without the dynamic linker: for code
 * that malloc may call, whose caller may hold any lock of the C library. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct link_map;

struct definition {
    void *function;                /* NULL: there is none */
    const struct link_map *object; /* that holds it */
    size_t bytes;                  /* of its code; 0: not told */
};

/* The first definition of a function behind the object of this code, in the search order: RTLD_NEXT. */
struct definition definition_next(const char *name);

/* The first of all: RTLD_DEFAULT. */
struct definition definition_first(const char *name);

/* Who looks for the function in this object from now on finds another one. False, and nothing changed, if the object lacks it or
 * cannot be written to. */
bool definition_replace(const struct link_map *object, const char *name, const void *function);
