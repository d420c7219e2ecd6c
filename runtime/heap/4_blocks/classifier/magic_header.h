/* Classifier "magic header": the last byte before a block says that it is ours, and its class. */
#pragma once

#include "3_records/span.h"

/* The class that the byte before a block says; CLASS_COUNT or more: it is no small block of ours. */
static inline size_t magic_class(const void *block)
{
    return (size_t)((const uint8_t *)block)[-1] - HEADER_MAGIC;
}

/* The byte is asked first. Others may have such bytes by chance. */
static inline bool magic_is_ours(const void *block)
{
    return magic_class(block) < CLASS_COUNT && (!MAGIC_CONFIRMS || in_slab_span(block));
}

/* For what begins a page, which may be the first that is mapped: the byte is read where it is one of ours. */
static inline bool magic_at_page(const void *block)
{
    return in_slab_span(block) && magic_class(block) < CLASS_COUNT;
}
