/* Preloaded: for each name of SHIM_NAMES a line that compares what definitions.c finds with what dlsym(3) does. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../runtime/heap/1_base/definitions.h"

static void tell(const char *name, void *next, void *first)
{
    void *found = definition_next(name).function;
    const char *what = found == next ? (found == NULL ? "neither" : "same") : next == NULL ? "more" : "other";
    printf("%s %s %s\n", name, what, definition_first(name).function == first ? "same" : "other");
}

__attribute__((constructor)) static void begin(void)
{
    char names[1000] = "";
    const char *given = getenv("SHIM_NAMES");
    if (given != NULL)
        strncpy(names, given, sizeof names - 1);
    for (char *name = strtok(names, " "); name != NULL; name = strtok(NULL, " "))
        tell(name, dlsym(RTLD_NEXT, name), dlsym(RTLD_DEFAULT, name));
}
