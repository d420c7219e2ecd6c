/* The numbers of a slab's class: from the table of classes or from the record of the slab (docs/machine.md section 6). */
#pragma once

#include "4_blocks/block_index/block_index.h"
#include "3_records/span.h"

#include SLAB_RECORD_NUMBERS
