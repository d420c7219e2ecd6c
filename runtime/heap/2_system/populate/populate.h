/* Populate: committed memory becomes resident at once, where the design has a kind of it. populate: of both spans;
 * populate_carved: of a slab. */
#pragma once

#include <stddef.h>

#include "plan.h"

#include POPULATE_ROW
