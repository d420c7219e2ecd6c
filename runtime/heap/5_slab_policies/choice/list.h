/* The LIFO list of a class's available slabs, doubly linked through their records, for the slab choices that keep one. */
#pragma once

#include "3_records/span.h"

/* Puts a slab at the head of the list. */
static inline void slab_link(struct class_slabs *slabs, struct slab *slab)
{
    slab->previous = NULL;
    slab->next = slabs->head;
    if (slabs->head != NULL)
        slabs->head->previous = slab;
    slabs->head = slab;
}

/* Takes a slab off the list. */
static inline void slab_unlink(struct class_slabs *slabs, struct slab *slab)
{
    if (slab->previous != NULL)
        slab->previous->next = slab->next;
    else
        slabs->head = slab->next;
    if (slab->next != NULL)
        slab->next->previous = slab->previous;
}
