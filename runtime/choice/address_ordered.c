/* Slab choice "address ordered": a list of the available slabs by ascending address; the lowest serves. */
#include "heap.h"

struct slab *choice_gives(struct class_slabs *slabs)
{
    return slabs->head;
}

void choice_attach(struct class_slabs *slabs, struct slab *slab)
{
    choice_add(slabs, slab);
}

void choice_remove(struct class_slabs *slabs, struct slab *slab)
{
    slab_unlink(slabs, slab);
}

void choice_add(struct class_slabs *slabs, struct slab *slab)
{
    struct slab *before = NULL;
    struct slab *after = slabs->head;
    while (after != NULL && after < slab) {
        before = after;
        after = after->next;
    }
    slab->previous = before;
    slab->next = after;
    if (before != NULL)
        before->next = slab;
    else
        slabs->head = slab;
    if (after != NULL)
        after->previous = slab;
}

bool choice_lets_go(const struct class_slabs *slabs, const struct slab *slab)
{
    return slabs->head != slab || slab->next != NULL;
}
