/* Empty slabs give back memory where somebody asks for it. The transfer cache's blocks keep their slabs from being empty. */
#pragma once

#include "1_base/cold.h"

#include <stddef.h>

COLD size_t slabs_trim(void); /* the pages of all empty slabs go back; bytes */
COLD size_t slabs_reclaim(size_t wanted); /* they become address space, at least `wanted` bytes if there are; bytes */
COLD void slabs_shrink(void); /* so do those that no class has had; under the pool lock */
