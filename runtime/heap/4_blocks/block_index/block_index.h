/* Block index: the number of a block in its slab, from its distance to the slab's first block. */
#pragma once

#include BLOCK_INDEX_ROW
