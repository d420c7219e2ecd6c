/* Classifier "registry": a hash table of the superslabs that were mapped says whether a block is ours, and the record of its
 * slab has the class.
 *
 * Protocol: an entry is written under the pool lock, before a block of the superslab is handed out, and stays for ever. So
 * whoever frees a block finds no empty slot before that of its superslab. */
#pragma once

#include "3_records/span.h"

extern uint32_t hs_registry[REGISTRY_SLOTS]; /* 1 + the number of a superslab; 0: empty */

/* The number of a block's superslab. */
static inline uint32_t registry_number(const void *block)
{
    return (uint32_t)(((uintptr_t)block - hs_span) / SUPERSLAB_BYTES);
}

/* The slot where the probes for a superslab begin. */
static inline uint32_t registry_home(uint32_t superslab)
{
    return (superslab * (uint32_t)REGISTRY_FACTOR) >> REGISTRY_SHIFT;
}

/* Does the first probe find the superslab of a block? */
static inline bool registry_at_home(const void *block)
{
    uint32_t superslab = registry_number(block);
    return __atomic_load_n(&hs_registry[registry_home(superslab)], __ATOMIC_RELAXED) == 1 + superslab;
}

/* Does any probe find it? Where nobody needs the answer, the compiler leaves the call out. */
__attribute__((pure, noinline)) bool registry_probed(const void *block);

void classifier_superslab_ready(struct heap *heap, size_t offset);
void classifier_reset(void);
