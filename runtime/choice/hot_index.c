/* Slab choice "hot index": one slab serves refills until it is exhausted; the others wait on a LIFO list. */
#include "choice/choice.h"

/* Takes a slab off the list. */
static void slab_unlink(struct class_slabs *slabs, struct slab *slab)
{
    if (slab->previous != NULL)
        slab->previous->next = slab->next;
    else
        slabs->head = slab->next;
    if (slab->next != NULL)
        slab->next->previous = slab->previous;
}

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
    slab->previous = NULL;
    slab->next = slabs->head;
    if (slabs->head != NULL)
        slabs->head->previous = slab;
    slabs->head = slab;
}

bool choice_lets_go(const struct class_slabs *slabs, const struct slab *slab)
{
    return slab != slabs->hot;
}
