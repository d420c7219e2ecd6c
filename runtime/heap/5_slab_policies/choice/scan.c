/* Slab choice "scan": the records of slabs are looked at one after the other, from those of the superslab that served last,
 * round all that are mapped; the first available slab of the class serves. `hot` is the slab that served last. */
#include "5_slab_policies/choice/choice.h"

/* The mark of a class's available slabs, in their field `child`: the address of what its store knows of the class. Any thread
 * may look at a mark while the store's owner sets it. */
static void mark(struct slab *slab, struct class_slabs *slabs)
{
    __atomic_store_n(&slab->child, (struct slab *)(void *)slabs, __ATOMIC_RELAXED);
}

static bool is_marked(struct slab *slab, struct class_slabs *slabs)
{
    return __atomic_load_n(&slab->child, __ATOMIC_RELAXED) == (struct slab *)(void *)slabs;
}

struct slab *choice_gives(struct class_slabs *slabs)
{
    const size_t in_superslab = SUPERSLAB_BYTES / SLAB_BYTES;
    size_t mapped = __atomic_load_n(&hs_count.superslabs, __ATOMIC_RELAXED) * in_superslab;
    size_t first = slabs->hot == NULL ? 0 : slab_number(slabs->hot) / in_superslab * in_superslab;
    for (size_t looked = 0; looked < mapped; looked++) {
        struct slab *slab = slab_record((first + looked) % mapped);
        if (is_marked(slab, slabs))
            return slabs->hot = slab;
    }
    return NULL;
}

void choice_attach(struct class_slabs *slabs, struct slab *slab)
{
    mark(slab, slabs);
    slabs->hot = slab;
}

void choice_remove(struct class_slabs *slabs, struct slab *slab)
{
    mark(slab, NULL);
}

void choice_add(struct class_slabs *slabs, struct slab *slab)
{
    mark(slab, slabs);
}

bool choice_lets_go(const struct class_slabs *slabs, const struct slab *slab)
{
    return slab != slabs->hot;
}
