/* Slab choice "hot index": one slab serves refills until it is exhausted; the others wait on a LIFO list. */
#include "5_slab_policies/choice/hot.h"

struct slab *choice_gives(struct class_slabs *slabs)
{
    return hot_gives(slabs);
}

void choice_attach(struct class_slabs *slabs, struct slab *slab)
{
    slabs->hot = slab;
}

void choice_remove(struct class_slabs *slabs, struct slab *slab)
{
    hot_remove(slabs, slab);
}

void choice_add(struct class_slabs *slabs, struct slab *slab)
{
    slab_link(slabs, slab);
}

bool choice_lets_go(const struct class_slabs *slabs, const struct slab *slab)
{
    return slab != slabs->hot;
}
