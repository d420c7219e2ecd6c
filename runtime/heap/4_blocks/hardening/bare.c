/* Hardening "off", "basic" and "checks": nothing is put around a block, and none is held back. */
#include "4_blocks/hardening/hardening.h"

void hardening_seal(void *block, size_t usable, size_t bytes)
{
}

void hardening_unseal(const void *block, size_t usable)
{
}

void hardening_fill(void *slack, size_t bytes)
{
}

void hardening_unfill(const void *block, const void *slack, size_t bytes)
{
}

size_t hardening_bytes(const void *block, size_t usable)
{
    return usable;
}

void hardening_empty(struct heap *heap)
{
}
