#define _GNU_SOURCE
#include "tested.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifndef PREFIX
#define PREFIX ""
#endif

struct tested tested;

static void *optional(const char *name)
{
    return dlsym(RTLD_DEFAULT, name);
}

static void *required(const char *name)
{
    void *function = optional(name);
    if (function == NULL) {
        fprintf(stderr, "stress: there is no function %s\n", name);
        exit(2);
    }
    return function;
}

/* Where the malloc has another name, strdup would call the wrong one. */
static char *duplicate(const char *text)
{
    char *copy = tested.malloc(strlen(text) + 1);
    return copy == NULL ? NULL : strcpy(copy, text);
}

void look_up_tested(void)
{
    void *own_strdup = optional(PREFIX "strdup");
    tested = (struct tested){
        .malloc = (void *(*)(size_t))required(PREFIX "malloc"),
        .calloc = (void *(*)(size_t, size_t))required(PREFIX "calloc"),
        .realloc = (void *(*)(void *, size_t))required(PREFIX "realloc"),
        .reallocarray = (void *(*)(void *, size_t, size_t))required(PREFIX "reallocarray"),
        .aligned_alloc = (void *(*)(size_t, size_t))required(PREFIX "aligned_alloc"),
        .posix_memalign = (int (*)(void **, size_t, size_t))required(PREFIX "posix_memalign"),
        .malloc_usable_size = (size_t (*)(void *))required(PREFIX "malloc_usable_size"),
        .strdup = own_strdup != NULL ? (char *(*)(const char *))own_strdup : duplicate,
        .free = (void (*)(void *))required(PREFIX "free"),
        .free_sized = (void (*)(void *, size_t))optional(PREFIX "free_sized"),
        .free_aligned_sized = (void (*)(void *, size_t, size_t))optional(PREFIX "free_aligned_sized"),
        .malloc_trim = (int (*)(size_t))optional(PREFIX "malloc_trim"),
        .mallinfo2 = (struct mallinfo2(*)(void))optional(PREFIX "mallinfo2"),
        .check = (void (*)(void))optional("heapsmith_check"),
        .locate = (int64_t (*)(const void *))optional("heapsmith_locate"),
    };
}
