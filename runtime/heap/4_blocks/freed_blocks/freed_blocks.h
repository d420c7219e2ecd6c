/* Freed blocks of a slab: how they are kept, and which goes first. The functions do not count: slab->freed and slab->out are the store's. */
#pragma once

#include FREED_BLOCKS_ROW
