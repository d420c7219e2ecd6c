/* The allocator that follows in the search order of the dynamic linker. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

void elsewhere_know(void); /* its functions are looked up now, if not before */

/* May a block be its? The C library's own malloc tells whether it has any memory; of another one nobody knows. */
bool elsewhere_in_use(void);

/* Its functions. Where there is none, blocks are left alone, and have no size. */
void elsewhere_free(void *block);
void *elsewhere_realloc(void *block, size_t bytes);
size_t elsewhere_usable(void *block);
