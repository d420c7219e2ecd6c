/* Hardening "off" (with unsealed.c): nothing stands between the program and the machine. */
#include "heap.h"

bool hardening_reserve(size_t span_bytes)
{
    (void)span_bytes;
    return true;
}

bool hardening_commit(size_t offset)
{
    (void)offset;
    return true;
}

void hardening_released(size_t offset)
{
    (void)offset;
}

void hardening_check(const void *block)
{
    (void)block;
}

void hardening_bad_free(const void *block)
{
    (void)block;
}

void hardening_reset(void)
{
}
