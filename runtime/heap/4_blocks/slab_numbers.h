/* The numbers of a slab's class: from the table of classes or the slab's record (docs/machine-rooms.md, 'slab_record'). */
#pragma once

#include "4_blocks/block_index/block_index.h"
#include "3_records/span.h"

#include SLAB_RECORD_NUMBERS
