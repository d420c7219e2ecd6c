/* A library that a program opens, calls and closes; NAME is that of its function, ROOM the bytes in its frame. */
#include <stdlib.h>

static void *volatile kept;

__attribute__((noinline, noclone)) static void NAME(size_t bytes)
{
    volatile char room[ROOM];
    room[0] = 1;
    kept = malloc(bytes + room[0] - 1);
    kept = NULL;
}

void allocate(size_t bytes)
{
    NAME(bytes);
    kept = NULL;
}
