/* Slab choice "address ordered": the lowest available slab serves. They hang in a pairing heap through their own records:
 * Fredman, Sedgewick, Sleator, Tarjan, "The pairing heap", Algorithmica 1986. `next` is a sibling, `previous` the sibling
 * before or of a first child its parent; `head` is the root. */
#include "5_slab_policies/choice/choice.h"

/* One heap of two roots, either of which may be NULL: the lower address on top, the other its first child. */
static struct slab *meld(struct slab *left, struct slab *right)
{
    if (left == NULL || right == NULL)
        return left != NULL ? left : right;
    struct slab *top = left < right ? left : right;
    struct slab *child = left < right ? right : left;
    child->next = top->child;
    child->previous = top;
    if (top->child != NULL)
        top->child->previous = child;
    top->child = child;
    return top;
}

/* One heap of a row of siblings: melded in pairs, then the pairs from the last to the first. */
static struct slab *meld_siblings(struct slab *first)
{
    struct slab *pairs = NULL;
    while (first != NULL) {
        struct slab *second = first->next;
        struct slab *rest = second != NULL ? second->next : NULL;
        struct slab *pair = meld(first, second);
        pair->next = pairs;
        pairs = pair;
        first = rest;
    }
    struct slab *root = NULL;
    while (pairs != NULL) {
        struct slab *rest = pairs->next;
        root = meld(root, pairs);
        pairs = rest;
    }
    if (root != NULL)
        root->next = root->previous = NULL;
    return root;
}

static void cut(struct slab *slab)
{
    if (slab->previous->child == slab)
        slab->previous->child = slab->next;
    else
        slab->previous->next = slab->next;
    if (slab->next != NULL)
        slab->next->previous = slab->previous;
}

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
    struct slab *orphans = meld_siblings(slab->child);
    if (slab == slabs->head) {
        slabs->head = orphans;
    } else {
        cut(slab);
        slabs->head = meld(slabs->head, orphans);
    }
}

void choice_add(struct class_slabs *slabs, struct slab *slab)
{
    slab->next = slab->previous = slab->child = NULL;
    slabs->head = meld(slabs->head, slab);
}

bool choice_lets_go(const struct class_slabs *slabs, const struct slab *slab)
{
    return slabs->head != slab || slab->child != NULL;
}
