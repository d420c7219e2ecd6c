/* Slab choice "hot superslabs": the available slabs of the class's hot superslabs serve before all others. They are on a list;
 * the slab that serves is its head. */
#include "5_slab_policies/choice/hot_superslabs.h"

#include "5_slab_policies/choice/choice.h"
#include "5_slab_policies/choice/list.h"

#include <string.h>

/* For each class, over all stores: the number of hot superslabs, and how often a superslab became hot. */
static struct heat {
    uint32_t hot, heated;
} superslabs_hot[CLASS_COUNT];

enum { NUMBER_BITS = 32 };

/* The field `hot` of a store's class is no slab here, but two numbers of 32 bits: in the low half 1 + the number of the
 * superslab that became hot last, above it that of the one before, each 0 if there is none. */
static uint64_t hot_numbers(const struct class_slabs *slabs)
{
    return (uintptr_t)slabs->hot;
}

static uint64_t number_of(const struct slab *slab)
{
    return 1 + slab_number(slab) / (SUPERSLAB_BYTES / SLAB_BYTES);
}

static bool is_hot(uint64_t numbers, const struct slab *slab)
{
    return (uint32_t)numbers == number_of(slab) || numbers >> NUMBER_BITS == number_of(slab);
}

static void heat(struct class_slabs *slabs, const struct slab *slab)
{
    const uint64_t numbers = hot_numbers(slabs), kept = MOST_HOT > 1 ? numbers << NUMBER_BITS : 0;
    const uint64_t gone = MOST_HOT > 1 ? numbers >> NUMBER_BITS : numbers;
    slabs->hot = (struct slab *)(uintptr_t)(kept | number_of(slab));
    struct heat *of_class = &superslabs_hot[slab->class];
    if (gone == 0)
        __atomic_fetch_add(&of_class->hot, 1, __ATOMIC_RELAXED);
    __atomic_fetch_add(&of_class->heated, 1, __ATOMIC_RELAXED);
}

struct slab *choice_gives(struct class_slabs *slabs)
{
    struct slab *head = slabs->head, *slab = head;
    if (head == NULL)
        return NULL;
    const uint64_t numbers = hot_numbers(slabs);
    while (slab != NULL && !is_hot(numbers, slab))
        slab = slab->next;
    if (slab == NULL) {
        heat(slabs, head);
        return head;
    }
    if (slab != head) {
        slab_unlink(slabs, slab);
        slab_link(slabs, slab);
    }
    return slab;
}

void choice_attach(struct class_slabs *slabs, struct slab *slab)
{
    slab_link(slabs, slab);
    if (!is_hot(hot_numbers(slabs), slab))
        heat(slabs, slab);
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

void choice_report(struct text *out)
{
    text_string(out, ", \"hot_superslabs\": [");
    for (unsigned class = 0; class < CLASS_COUNT; class++) {
        text_field(out, class == 0 ? "{" : ", {", "size", hs_class[class].stride);
        text_field(out, ", ", "superslabs_hot", __atomic_load_n(&superslabs_hot[class].hot, __ATOMIC_RELAXED));
        text_field(out, ", ", "superslabs_heated", __atomic_load_n(&superslabs_hot[class].heated, __ATOMIC_RELAXED));
        text_string(out, "}");
    }
    text_string(out, "]");
}

void choice_reset(void)
{
    memset(superslabs_hot, 0, sizeof superslabs_hot);
}
