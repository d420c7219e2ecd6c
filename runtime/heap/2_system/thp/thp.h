/* Transparent huge pages: which memory lies on them (docs/machine-rooms.md).
 *
 * THP_ALIGNMENT: the least of the slab span, or 1.
 * thp_superslab: does a new superslab for blocks of this stride lie on huge pages? mapped: bytes mapped before it.
 * thp_mapping: does a mapping of a huge block's own?
 * thp_advise: tells the system what memory wants, where the design does not leave it to the system. */
#pragma once

#include "2_system/os.h"

#include "plan.h"

#include THP_ROW
