/* Classifier "class region": the span is cut into one range per class; the address bits above name the class. */
#include "classifier/class_region.h"

#include "classifier/classifier.h"

#include <string.h>

uint8_t hs_region_shift; /* a region's bytes, as a power of two */
static size_t superslabs[CLASS_COUNT];

/* Smaller regions where the system grants no span so wide. */
size_t classifier_span(unsigned halvings)
{
    if (REGION_BYTES >> halvings < SUPERSLAB_BYTES)
        return 0;
    hs_region_shift = (uint8_t)(REGION_SHIFT - halvings);
    return (size_t)CLASS_COUNT << hs_region_shift;
}

size_t classifier_place(unsigned class)
{
    size_t in_region = superslabs[class] * SUPERSLAB_BYTES;
    return in_region >> hs_region_shift == 0 && hs_span_bytes > 0 ? ((size_t)class << hs_region_shift) + in_region : SIZE_MAX;
}

void classifier_placed(unsigned class)
{
    superslabs[class]++;
}

void classifier_adopt(const struct slab *slab)
{
    (void)slab;
}

void classifier_retire(const struct slab *slab)
{
    (void)slab;
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
    return (unsigned)(((uintptr_t)block - hs_span) >> hs_region_shift);
}

void classifier_reset(void)
{
    memset(superslabs, 0, sizeof superslabs);
}
