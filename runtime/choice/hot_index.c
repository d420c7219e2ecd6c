/* Slab choice "hot index": one slab serves refills until it is exhausted; the others wait on a LIFO list. */
#include "choice/choice.h"
#include "choice/list.h"

struct slab *choice_gives(struct class_slabs *slabs)
{
    if (slabs->hot == NULL && slabs->head != NULL) {
        slabs->hot = slabs->head;
        slab_unlink(slabs, slabs->hot);
    }
    return slabs->hot;
}

void choice_attach(struct class_slabs *slabs, struct slab *slab)
{
    slabs->hot = slab;
}

void choice_remove(struct class_slabs *slabs, struct slab *slab)
{
    if (slab == slabs->hot)
        slabs->hot = NULL;
    else
        slab_unlink(slabs, slab);
}

void choice_add(struct class_slabs *slabs, struct slab *slab)
{
    slab_link(slabs, slab);
}

bool choice_lets_go(const struct class_slabs *slabs, const struct slab *slab)
{
    return slab != slabs->hot;
}
