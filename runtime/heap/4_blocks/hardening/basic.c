/* Hardening "basic": a free compares its block with the last one, and slow paths look at the blocks that come to them: in
 * freed_blocks/, 6_slabs/store.c and 9_api/api.c. */
#include "4_blocks/hardening/basic.h"

#include "4_blocks/hardening/hardening.h"

void hardening_released(size_t offset)
{
}

void hardening_check(const void *block)
{
}

void hs_freed_last(const void *block)
{
    hs_misuse("double free", block);
}

void hardening_bad_free(const void *block)
{
    hs_misuse("free of what is no block in use", block);
}
