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
#include "1_base/definitions.h"
#include "9_api/deletes/deletes.h"
#include "1_base/text.h"

#include <stdlib.h>
#include <unistd.h>

#pragma GCC visibility push(default)

void *new_aligned(size_t bytes, size_t alignment) __asm__("_ZnwmSt11align_val_t");
void delete_plain(void *block) __asm__("_ZdlPv");
void delete_aligned(void *block, size_t alignment) __asm__("_ZdlPvSt11align_val_t");

#pragma GCC visibility pop

typedef void *(*plain_new)(size_t bytes);
typedef void *(*aligned_new)(size_t bytes, size_t alignment);

/* Also that of a C++ library outside the global scope, which a plug-in of a C program brought. An operator new may not return
 * NULL, and without a C++ library nobody can throw. */
static void *next_operator(const char *name)
{
    void *found = definition_next(name).function;
    if (found != NULL)
        return found;
    char line[TEXT_LINE];
    struct text out = text_to(STDERR_FILENO, line, sizeof line);
    text_string(&out, "heapsmith: operator new: out of memory, and no C++ library to throw std::bad_alloc\n");
    text_end(&out);
    abort();
}

/* Rounded up as libstdc++ does; what would overflow becomes the largest multiple, which no heap serves. */
static size_t multiple_of(size_t alignment, size_t bytes)
{
    return bytes > -alignment ? -alignment : (bytes + alignment - 1) & -alignment;
}

GATE void *new_elsewhere(size_t bytes)
{
    return ((plain_new)next_operator("_Znwm"))(bytes);
}

GATE static void *aligned_elsewhere(size_t bytes, size_t alignment)
{
    return ((aligned_new)next_operator("_ZnwmSt11align_val_t"))(bytes, alignment);
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
