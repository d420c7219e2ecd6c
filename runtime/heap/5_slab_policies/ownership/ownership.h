/* Ownership: how an address leads to the heap that owns a block, and where a heap gets its slabs. */
#pragma once

#include "5_slab_policies/empties/empties.h"
#include "2_system/os.h"
#include "3_records/span.h"

#include SHARDS_VACANCIES

#include OWNERSHIP_ROW

/* Where a heap gets slabs for a class. */
static inline struct vacancy *vacancy_of(struct heap *heap, unsigned class)
{
    return &vacancies_of(heap)[first_vacancy(heap) + empties_place(class)];
}

/* Where a slab that is empty goes. */
static inline struct vacancy *vacancy_for(struct heap *heap, const struct slab *slab)
{
    return &vacancies_of(heap)[first_vacancy_for(slab) + empties_place(slab->class)];
}
