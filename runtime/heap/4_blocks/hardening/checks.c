/* Hardening "checks": the live map (live.c), and guards around huge blocks. */
#include "4_blocks/hardening/guards.h"
#include "4_blocks/hardening/hardening.h"
#include "4_blocks/hardening/live.h"

size_t hardening_slack(const void *end)
{
    return 0;
}
