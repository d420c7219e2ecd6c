/* Classifier "magic header": the byte as blocks leave their slab and come back. */
#include "4_blocks/classifier/magic_header.h"

#include "4_blocks/classifier/classifier.h"

void classifier_set(const struct slab *slab, unsigned row)
{
}

void classifier_mark(void *const *blocks, uint32_t count, unsigned class)
{
    for (uint32_t index = 0; index < count; index++)
        ((uint8_t *)blocks[index])[-1] = (uint8_t)(HEADER_MAGIC + class);
}

void classifier_unmark(void *block)
{
    ((uint8_t *)block)[-1] = 0;
}

unsigned classifier_class(const void *block)
{
    return magic_class(block) < CLASS_COUNT ? (unsigned)magic_class(block) : CLASS_COUNT;
}
