/* C++'s allocating operators ([new.delete], C++17 and later), under their names in the Itanium C++ ABI for 64 bits.
 *
 * Only the four that the others are defined by are here: the C++ library's array, nothrow and sized forms call them, or what
 * the program put in their place, as the standard has it. Were a sized delete here too, it would free what a program's own
 * operator new made; those of hardened libraries look first (deletes/judged.c). A request that malloc serves never leaves
 * this file. One that it does not goes to the next definition of the same operator, the C++ library's, which runs the
 * new-handler over our malloc and throws. fast.c has the plain operator new, with malloc inside. */
#include "9_api/operator_new.h"
#include "9_api/api.h"
#include "1_base/bound.h"
#include "9_api/deletes/deletes.h"

#include <stdlib.h>

#pragma GCC visibility push(default)

void *new_aligned(size_t bytes, size_t alignment) __asm__("_ZnwmSt11align_val_t");
void delete_plain(void *block) __asm__("_ZdlPv");
void delete_aligned(void *block, size_t alignment) __asm__("_ZdlPvSt11align_val_t");

#pragma GCC visibility pop

typedef void *(*aligned_new)(size_t bytes, size_t alignment);

/* Rounded up as libstdc++ does; what would overflow becomes the largest multiple, which no heap serves. */
static size_t multiple_of(size_t alignment, size_t bytes)
{
    return bytes > -alignment ? -alignment : (bytes + alignment - 1) & -alignment;
}

GATE static void *aligned_elsewhere(size_t bytes, size_t alignment)
{
    return ((aligned_new)hs_next_operator("_ZnwmSt11align_val_t"))(bytes, alignment);
}

void *new_aligned(size_t bytes, size_t alignment)
{
    size_t rounded = multiple_of(alignment, bytes == 0 ? 1 : bytes);
    void *block = aligned_alloc(alignment, rounded);
    return __builtin_expect(block != NULL, 1) ? block : aligned_elsewhere(rounded, alignment);
}

void delete_plain(void *block)
{
    deletes_plain(block);
    free(block);
}

void delete_aligned(void *block, size_t alignment)
{
    free(block);
}
