/* Hardening "off": nothing stands between the program and the machine. */
#include "4_blocks/hardening/hardening.h"

void hardening_released(size_t offset)
{
}

void hardening_check(const void *block)
{
}

void hardening_bad_free(const void *block)
{
}
