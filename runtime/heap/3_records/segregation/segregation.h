/* Segregation: the class of a call of malloc, where the design tells sites apart (docs/machine-rooms.md).
 *
 * A class is *apart* if some group of sites has a class of its own for the size. Such a size has no row in heap.row_of: what
 * asks for it misses, and the caller then tells the row. So malloc of other sizes does not look at its caller. */
#pragma once

#include "3_records/heap.h"

#include SEGREGATION_ROW
