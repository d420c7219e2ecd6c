/* Prewarm "fronts": the thread of a new heap allocates blocks of the stated classes and frees them, the last first. */
#include "8_threads/prewarm/fronts.h"

#include "5_slab_policies/choice/choice.h"
#include "5_slab_policies/remote/remote.h"
#include "5_slab_policies/shards/shards.h"
#include "6_slabs/slabs.h"
#include "moments.h"

#include <stdlib.h>

extern const uint32_t hs_prewarm_blocks[CLASS_COUNT];
extern const uint32_t hs_prewarm_slabs[CLASS_COUNT];

static void prepare_slabs(struct heap *heap, unsigned class)
{
    on_take_begins(heap);
    remote_lock_store(heap, class);
    count_locks(LOCKS_PREWARM);
    for (uint32_t made = 0; made < hs_prewarm_slabs[class]; made++) {
        struct slab *slab = slabs_acquire(heap, class);
        if (slab == NULL)
            break;
        choice_add(remote_slabs(heap, class), slab);
    }
    remote_unlock_store(heap, class);
}

/* The blocks wait on a list through their first words. */
static void prepare_blocks(unsigned class)
{
    void **last = NULL;
    for (uint32_t made = 0; made < hs_prewarm_blocks[class]; made++) {
        void **block = malloc(hs_class[class].usable);
        if (block == NULL)
            break;
        *block = last;
        last = block;
    }
    while (last != NULL) {
        void **block = last;
        last = *block;
        free(block);
    }
}

void prewarm_heap_started(struct heap *heap)
{
    for (unsigned class = 0; class < PREWARM_END; class++) {
        if (heap->earlier == NULL) /* the first */
            prepare_slabs(heap, class);
        prepare_blocks(class);
    }
}
