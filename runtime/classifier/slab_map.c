/* Classifier "slab map": a byte per slab, 1 + class; 0 where no class lives. */
#include "classifier/slab_map.h"

#include "classifier/classifier.h"

#include <string.h>

uint8_t hs_slab_class[SPAN_SLABS]; /* written under the pool lock; a block's own slab keeps its byte while the block lives */

size_t classifier_span(unsigned halvings)
{
    size_t bytes = SLAB_SPAN_BYTES >> halvings;
    return bytes >= SMALLEST_SLAB_SPAN ? bytes : 0;
}

size_t classifier_place(unsigned class)
{
    (void)class;
    size_t offset = hs_count.superslabs * SUPERSLAB_BYTES;
    return offset < hs_span_bytes ? offset : SIZE_MAX;
}

void classifier_placed(unsigned class)
{
    (void)class;
}

void classifier_adopt(const struct slab *slab)
{
    hs_slab_class[slab - hs_slabs] = (uint8_t)(slab->class + 1);
}

void classifier_retire(const struct slab *slab)
{
    hs_slab_class[slab - hs_slabs] = 0;
}

void classifier_mark(void *const *blocks, uint32_t count, unsigned class)
{
    (void)blocks;
    (void)count;
    (void)class;
}

void classifier_unmark(void *block)
{
    (void)block;
}

unsigned classifier_class(const void *block)
{
    return hs_slab_class[((uintptr_t)block - hs_span) >> SLAB_SHIFT] - 1u;
}

void classifier_reset(void)
{
    memset(hs_slab_class, 0, hs_count.superslabs * SUPERSLAB_BYTES >> SLAB_SHIFT);
}
