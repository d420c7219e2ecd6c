/* Empty slabs give back memory where somebody asks for it. The transfer cache's blocks keep their slabs from being empty. */
#pragma once

#include <stddef.h>

size_t slabs_trim(void);             /* the pages of all empty slabs go back; bytes */
size_t slabs_reclaim(size_t wanted); /* empty slabs become address space: at least `wanted` bytes, if there are; bytes */
void slabs_shrink(void);             /* so do those that no class has had; under the pool lock */
