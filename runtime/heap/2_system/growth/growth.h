/* Growth: how much of a region of the slab span becomes usable at once. Under the pool lock. */
#pragma once

#include GROWTH_ROW
