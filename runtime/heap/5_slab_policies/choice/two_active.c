/* Slab choice "two active": one slab serves refills until it is exhausted, then the head of the list of the others, which no
 * other slab may take the place of. */
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

/* Behind the head. */
void choice_add(struct class_slabs *slabs, struct slab *slab)
{
    struct slab *second = slabs->head;
    if (second == NULL) {
        slab_link(slabs, slab);
        return;
    }
    slab->next = second->next;
    slab->previous = second;
    second->next = slab;
    if (slab->next != NULL)
        slab->next->previous = slab;
}

bool choice_lets_go(const struct class_slabs *slabs, const struct slab *slab)
{
    return slab != slabs->hot && slab != slabs->head;
}
