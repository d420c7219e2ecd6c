/* Classifier "registry": the table, and the probes behind the first (docs/machine-rooms.md). */
#include "4_blocks/classifier/registry.h"

#include "1_base/bound.h"
#include "1_base/cold.h"
#include "4_blocks/classifier/classifier.h"

#include <string.h>

uint32_t hs_registry[REGISTRY_SLOTS] COLD_DATA;

/* The slot that has the superslab, or the empty one where its probes end: half of the slots are empty at least. */
static uint32_t *registry_slot(uint32_t superslab)
{
    uint32_t at = registry_home(superslab), found;
    ROUNDS(probes);
    while ((found = __atomic_load_n(&hs_registry[at], __ATOMIC_RELAXED)) != 1 + superslab && found != 0) {
        BOUND(probes, REGISTRY_SLOTS);
        at = (at + 1) % REGISTRY_SLOTS;
    }
    return &hs_registry[at];
}

bool registry_probed(const void *block)
{
    return __atomic_load_n(registry_slot(registry_number(block)), __ATOMIC_RELAXED) != 0;
}

void classifier_superslab_ready(struct heap *heap, size_t offset)
{
    uint32_t superslab = (uint32_t)(offset / SUPERSLAB_BYTES);
    __atomic_store_n(registry_slot(superslab), 1 + superslab, __ATOMIC_RELAXED);
}

void classifier_reset(void)
{
    memset(hs_registry, 0, sizeof hs_registry);
}

void classifier_set(const struct slab *slab, unsigned row)
{
}

void classifier_mark(void *const *blocks, uint32_t count, unsigned class)
{
}

void classifier_unmark(void *block)
{
}

unsigned classifier_class(const void *block)
{
    return registry_probed(block) ? slab_of(block)->class : CLASS_COUNT;
}
