/* Classifier "header": the 8 bytes before a block hold its class; superslabs follow one another. */
#include "4_blocks/classifier/classifier.h"

void classifier_set(const struct slab *slab, unsigned row)
{
}

void classifier_mark(void *const *blocks, uint32_t count, unsigned class)
{
    for (uint32_t index = 0; index < count; index++)
        ((uint64_t *)blocks[index])[-1] = class;
}

void classifier_unmark(void *block)
{
    ((uint64_t *)block)[-1] = 0;
}

unsigned classifier_class(const void *block)
{
    uint64_t class = ((const uint64_t *)block)[-1];
    return class < CLASS_COUNT ? (unsigned)class : CLASS_COUNT;
}
