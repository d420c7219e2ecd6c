/* Shards: parts of the store and of the transfer cache that heaps share, and their locks (docs/machine-rooms.md). */
#pragma once

#include "1_base/check.h"
#include "2_system/locks.h"
#include "3_records/slab_record/slab_record.h"

#include SHARDS_ROW
