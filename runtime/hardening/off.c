/* Hardening "off": nothing stands between the program and the machine. */
#include "hardening/hardening.h"

void hardening_released(size_t offset)
{
}

void hardening_check(const void *block)
{
}

void hardening_bad_free(const void *block)
{
}

void hardening_seal(void *block, size_t usable)
{
}

void hardening_unseal(const void *block, size_t usable)
{
}

void hardening_empty(struct heap *heap)
{
}
