/* Classifier "byte header": the last byte before a block holds its class; superslabs follow one another. */
#include "4_blocks/classifier/classifier.h"

void classifier_set(const struct slab *slab, unsigned row)
{
}

void classifier_mark(void *const *blocks, uint32_t count, unsigned class)
{
    for (uint32_t index = 0; index < count; index++)
        ((uint8_t *)blocks[index])[-1] = (uint8_t)class;
}

void classifier_unmark(void *block)
{
    ((uint8_t *)block)[-1] = 0;
}

unsigned classifier_class(const void *block)
{
    unsigned class = ((const uint8_t *)block)[-1];
    return class < CLASS_COUNT ? class : CLASS_COUNT;
}
