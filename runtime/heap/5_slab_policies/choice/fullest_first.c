/* Slab choice "fullest first": the slab with the most blocks out serves, so that the emptiest drain. The available slabs are
 * on a LIFO list, of which each take looks at all. */
#include "5_slab_policies/choice/choice.h"
#include "5_slab_policies/choice/list.h"

struct slab *choice_gives(struct class_slabs *slabs)
{
    struct slab *fullest = slabs->head;
    for (struct slab *slab = fullest; slab != NULL; slab = slab->next)
        if (slab->out > fullest->out)
            fullest = slab;
    return fullest;
}

void choice_attach(struct class_slabs *slabs, struct slab *slab)
{
    slab_link(slabs, slab);
}

void choice_remove(struct class_slabs *slabs, struct slab *slab)
{
    slab_unlink(slabs, slab);
}

void choice_add(struct class_slabs *slabs, struct slab *slab)
{
    slab_link(slabs, slab);
}

bool choice_lets_go(const struct class_slabs *slabs, const struct slab *slab)
{
    return slabs->head != slab || slab->next != NULL;
}
