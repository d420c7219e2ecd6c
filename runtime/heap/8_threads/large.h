/* Large blocks: runs of pages and huge mappings; a thread's own run cache is looked at without the large lock. */
#pragma once

#include "1_base/cold.h"
#include "3_records/heap.h"

void *hs_large_alloc(size_t bytes, size_t alignment, bool *zero); /* sets errno */
void *hs_malloc_large(size_t bytes);
bool hs_large_free(void *block);        /* false: not a large block of ours */
bool hs_large_owns(const void *block);  /* in the run span, block or not; where hardened or checked, in a huge block */
bool hs_large_empty(const void *block); /* a block of no bytes (hardening) */
size_t hs_large_usable(const void *block); /* 0: not a large block of ours */
size_t hs_large_bytes(const void *block); /* that the program may use; 0: likewise, or of no bytes */
void *hs_large_resize(void *block, size_t bytes); /* in place, or a huge block remapped or made of a run; NULL: must move */
COLD size_t hs_large_trim(struct heap *heap); /* its cache and all free runs give their pages back; bytes */
COLD void hs_large_prepare_locking(void); /* what no block ever had is no address space any more */
COLD int64_t hs_large_locate(const void *block);
COLD void hs_large_census(size_t *run_bytes, size_t *used_bytes, size_t *huge_bytes, size_t *huge_blocks);
COLD void hs_large_check(void);
COLD void hs_large_reset(size_t span_bytes); /* checked build */

/* There is no heap, or no slab for the class: a run serves. */
static inline void *hs_alloc_run_for(unsigned class)
{
    return hs_malloc_large(hs_class[class].usable);
}
