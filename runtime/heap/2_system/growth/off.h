/* Growth "off": each superslab is made usable by itself. */
#pragma once

#include <stddef.h>

#include "plan.h"

/* Bytes from the region's start that are usable; `mapped` of them are superslabs. */
static inline size_t growth_usable(size_t region, size_t mapped)
{
    return mapped;
}

/* Bytes that should become usable next. */
static inline size_t growth_step(size_t region)
{
    return SUPERSLAB_BYTES;
}

/* A region has `usable` usable bytes now. */
static inline void growth_rose(size_t region, size_t usable)
{
}

/* The region's usable bytes are fewer from now on: those of its superslabs. */
static inline void growth_fell(size_t region, size_t usable)
{
}
