/* The live map of hardened heaps: a byte per GRAIN bytes of the slab span, beside it, so that no block is looked at.
 *
 * Written with plain stores by the thread that allocates or frees the block: a byte is one block's, and whoever may free a
 * block got it from whoever allocated it by the program's own synchronisation. Two frees that race may both pass. */
#include "4_blocks/hardening/live.h"

#include "4_blocks/hardening/hardening.h"
#include "2_system/os.h"

uintptr_t hs_link_key;

/* No block of the slab is live; that some were freed is forgotten. */
void hardening_released(size_t offset)
{
    if (SLAB_BYTES / GRAIN >= PAGE_BYTES)
        os_release(hs_live + offset / GRAIN, SLAB_BYTES / GRAIN, false);
}

void hs_not_live(const void *block, const char *what_if_freed)
{
    uintptr_t offset = (uintptr_t)block - hs_span;
    bool freed = offset % GRAIN == 0 && hs_live[offset / GRAIN] == FREED;
    hs_misuse(freed ? what_if_freed : "not the start of a block", block);
}

void hardening_check(const void *block)
{
    if (!hs_is_live((uintptr_t)block - hs_span))
        hs_not_live(block, "use of a freed block");
}

void hardening_bad_free(const void *block)
{
    hs_misuse("free of what is no block in use", block);
}
