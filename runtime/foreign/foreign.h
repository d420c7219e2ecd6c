/* Foreign pointers, which are none of ours: the leftovers of whatever allocator made them. */
#ifndef HEAPSMITH_FOREIGN_H
#define HEAPSMITH_FOREIGN_H

#include <stddef.h>

#pragma GCC visibility push(hidden)

void foreign_free(void *block);
void *foreign_realloc(void *block, size_t bytes);
size_t foreign_usable(void *block);

#pragma GCC visibility pop

#endif
