/* Foreign pointers, which are none of ours: the leftovers of whatever allocator made them. */
#pragma once

#include <stddef.h>

void foreign_know(void); /* before the names of the next allocator lead to this library */
void foreign_free(void *block);
void *foreign_realloc(void *block, size_t bytes);
size_t foreign_usable(void *block);
