/* A hot slab, and a list of the other available slabs: what slab choices with both do. */
#pragma once

#include "5_slab_policies/choice/choice.h"
#include "5_slab_policies/choice/list.h"

static inline struct slab *hot_gives(struct class_slabs *slabs)
{
    if (slabs->hot == NULL && slabs->head != NULL) {
        slabs->hot = slabs->head;
        slab_unlink(slabs, slabs->hot);
    }
    return slabs->hot;
}

static inline void hot_remove(struct class_slabs *slabs, struct slab *slab)
{
    if (slab == slabs->hot)
        slabs->hot = NULL;
    else
        slab_unlink(slabs, slab);
}
