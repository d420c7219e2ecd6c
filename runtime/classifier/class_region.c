/* Classifier "class region": the span is cut into one range per class; the address bits above name the class. */
#include "heap.h"

#include <string.h>

static size_t superslabs[CLASS_COUNT];

size_t classifier_place(unsigned class)
{
    size_t in_region = superslabs[class] * SUPERSLAB_BYTES;
    return in_region < REGION_BYTES ? (size_t)class * REGION_BYTES + in_region : SIZE_MAX;
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

unsigned classifier_class(const void *block)
{
    uintptr_t class = ((uintptr_t)block - hs_span) >> REGION_SHIFT;
    return class < CLASS_COUNT ? (unsigned)class : NO_CLASS;
}

void classifier_reset(void)
{
    memset(superslabs, 0, sizeof superslabs);
}
