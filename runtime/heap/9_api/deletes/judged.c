/* Deletes "judged": the array and sized forms of C++'s operators, and the marks by which they know who made a block.
 *
 * As in the C++ library, each form ends in the plain operator, the program's own if it has one. A block that another operator
 * new made, or malloc, has no mark and is not judged. The names are those of the Itanium C++ ABI for 64 bits. */
#include "9_api/deletes/deletes.h"

#include "1_base/definitions.h"
#include "4_blocks/hardening/hardening.h"
#include "4_blocks/hardening/live.h"
#include "7_large/huge.h"
#include "7_large/run_span.h"
#include "8_threads/large.h"
#include "3_records/segregation/segregation.h"
#include ROUNDING_ROW
#include SAMPLING_GUARDS

/* Marks of live blocks: LIVE is a bit of each. Of runs only samples have one. */
enum { OF_NEW = LIVE | 4, OF_ARRAY_NEW = LIVE | 8 };

static uint8_t mark_of(const void *block)
{
    uintptr_t offset = (uintptr_t)block - hs_span;
    if (offset < hs_span_bytes)
        return hs_is_live(offset) ? hs_live[offset / GRAIN] : 0;
    if (guarded_holds(block))
        return guarded_mark(block);
    return run_takes_mark(block) ? run_mark(block) | LIVE : huge_mark(block);
}

static void set_mark(const void *block, uint8_t as)
{
    uintptr_t offset = (uintptr_t)block - hs_span;
    if (guarded_holds(block))
        guarded_set_mark(block, as);
    else if (run_takes_mark(block))
        run_set_mark(block, as & ~LIVE);
    else if (offset >= hs_span_bytes)
        huge_set_mark(block, as);
    else if (hs_is_live(offset))
        hs_live[offset / GRAIN] = as;
}

void deletes_made(const void *block)
{
    set_mark(block, OF_NEW);
}

void deletes_plain(const void *block)
{
    if (mark_of(block) == OF_ARRAY_NEW)
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
        found = definition_first(name).function;
        __atomic_store_n(known, found, __ATOMIC_RELAXED);
    }
    return found;
}

static void delete_now(void *block)
{
    static void *known;
    ((void (*)(void *))operator_now(&known, "_ZdlPv"))(block);
}

/* Without canaries nobody knows the size that the program asked for, but its class, or its pages. A block of fewer bytes may
 * be one that the front of a larger class lent. */
static bool may_hold(const void *block, size_t bytes)
{
    if (guarded_holds(block))
        return bytes == guarded_bytes(block);
    bool small = in_slab_span(block);
    size_t usable = small ? hs_class[slab_of(block)->class].usable : hs_large_bytes(block);
    if (TAIL_BYTES > 0)
        return bytes == (small ? hardening_bytes(block, usable) : usable);
    if (FRONTS_LEND)
        return bytes <= usable;
    return bytes <= usable && (small ? &hs_class[size_to_class(bytes)] == hs_sized_plan(&hs_class[slab_of(block)->class])
                                     : usable - bytes < PAGE_BYTES);
}

static void check_size(const void *block, size_t bytes)
{
    uint8_t made_as = mark_of(block);
    if ((made_as == OF_NEW || made_as == OF_ARRAY_NEW) && !may_hold(block, bytes))
        hs_misuse("delete of another size", block);
}

void *new_array(size_t bytes)
{
    static void *known;
    void *block = ((void *(*)(size_t))operator_now(&known, "_Znwm"))(bytes);
    if (mark_of(block) == OF_NEW)
        set_mark(block, OF_ARRAY_NEW);
    return block;
}

void delete_array(void *block)
{
    uint8_t made_as = mark_of(block);
    if (made_as == OF_NEW)
        hs_misuse("delete[] of what new made", block);
    if (made_as == OF_ARRAY_NEW)
        set_mark(block, OF_NEW);
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
