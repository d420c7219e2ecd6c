/* Wrong deletes: the array and sized forms of C++'s operators, and the marks by which they know who made a block.
 *
 * As in the C++ library, each form ends in the plain operator, the program's own if it has one. A block that another operator
 * new made, or malloc, has no mark and is not judged. The names are those of the Itanium C++ ABI for 64 bits. */
#define _GNU_SOURCE
#include "hardening/deletes.h"

#include "hardening/hardening.h"

#include <dlfcn.h>

void hardening_made(const void *block)
{
    uint8_t *mark = hs_made_by(block);
    if (mark != NULL)
        *mark = OF_NEW;
}

void hardening_deleted(const void *block)
{
    uint8_t *mark = hs_made_by(block);
    if (mark != NULL && *mark == OF_ARRAY_NEW)
        hs_misuse("delete of what new[] made", block);
}

#ifndef HEAPSMITH_ARCHIVE

#pragma GCC visibility push(default)

void *new_array(size_t bytes) __asm__("_Znam");
void delete_array(void *block) __asm__("_ZdaPv");
void delete_sized(void *block, size_t bytes) __asm__("_ZdlPvm");
void delete_array_sized(void *block, size_t bytes) __asm__("_ZdaPvm");

#pragma GCC visibility pop

/* The operator that the program would call: its own, or ours. Each thread that looks writes the same. */
static void *operator_now(void **known, const char *name)
{
    void *found = __atomic_load_n(known, __ATOMIC_RELAXED);
    if (found == NULL) {
        found = dlsym(RTLD_DEFAULT, name);
        __atomic_store_n(known, found, __ATOMIC_RELAXED);
    }
    return found;
}

static void delete_now(void *block)
{
    static void *known;
    ((void (*)(void *))operator_now(&known, "_ZdlPv"))(block);
}

static void check_size(const void *block, size_t bytes)
{
    const uint8_t *mark = hs_made_by(block);
    if (mark == NULL || *mark == LIVE)
        return;
    if (bytes > hs_class[slab_of(block)->class].usable)
        hs_misuse("delete of another size", block);
}

void *new_array(size_t bytes)
{
    static void *known;
    void *block = ((void *(*)(size_t))operator_now(&known, "_Znwm"))(bytes);
    uint8_t *mark = hs_made_by(block);
    if (mark != NULL && *mark == OF_NEW)
        *mark = OF_ARRAY_NEW;
    return block;
}

void delete_array(void *block)
{
    uint8_t *mark = hs_made_by(block);
    if (mark != NULL && *mark == OF_NEW)
        hs_misuse("delete[] of what new made", block);
    if (mark != NULL && *mark == OF_ARRAY_NEW)
        *mark = OF_NEW;
    delete_now(block);
}

void delete_sized(void *block, size_t bytes)
{
    check_size(block, bytes);
    delete_now(block);
}

void delete_array_sized(void *block, size_t bytes)
{
    check_size(block, bytes);
    delete_array(block);
}

#endif
