/* A library that a program opens, calls and closes; NAME is that of its function. */
#include <stdlib.h>

static void *volatile kept;

__attribute__((noinline, noclone)) static void NAME(size_t bytes)
{
    kept = malloc(bytes);
    kept = NULL;
}

void allocate(size_t bytes)
{
    NAME(bytes);
    kept = NULL;
}
