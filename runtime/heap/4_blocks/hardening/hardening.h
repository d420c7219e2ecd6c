/* Hardening: what stands between the program and the machine (docs/hardening.md). */
#pragma once

#include "1_base/libc.h"
#include "3_records/heap.h"

void hardening_released(size_t offset);                  /* an empty slab's pages went back */
void hardening_check(const void *block);                 /* the program gives this block of the slab span to realloc or usable_size: is it one? */
void hardening_bad_free(const void *block);              /* freed, in one of our spans, and no block of ours */
void hardening_seal(void *block, size_t usable, size_t bytes); /* it goes to the program, which asked for `bytes` of `usable` */
void hardening_unseal(const void *block, size_t usable);  /* it comes back, or changes its size */
size_t hardening_bytes(const void *block, size_t usable); /* those that the program may use: `usable`, or what it asked for */
void hardening_fill(void *slack, size_t bytes); /* a block without a tail: the bytes behind those that the program asked for */
void hardening_unfill(const void *block, const void *slack, size_t bytes); /* are they as they were filled? */
size_t hardening_slack(const void *end); /* of the usable bytes before `end`, those that the program did not ask for, where canaries say that */
/* A huge block's mapping, as os_map, os_remap, os_unmap. narrow: its guards are. */
void *hardening_map(size_t bytes, size_t alignment, bool *narrow);
struct huge_place {
    size_t bytes, room, grown; /* of a huge block; as struct huge, in bytes */
};
void *hardening_remap(void *start, struct huge_place old, size_t new_bytes, size_t new_room, bool *narrow);
bool hardening_grow(void *room, size_t bytes);             /* the first bytes of a block's room become its own */
void hardening_cut(void *room, size_t bytes, bool narrow); /* a block has no room any more */
void hardening_unmap(void *start, size_t bytes, bool narrow);
bool hardening_narrow(char *start, size_t bytes, bool narrow); /* its guards become narrow, if they are not yet; true */
size_t hardening_vacate(void);                           /* address space that is held back of unmapped ones goes; bytes */
void hardening_empty(struct heap *heap);                 /* thread exit: the quarantine's blocks are freed */
void hs_misuse(const char *fault, const void *block) __attribute__((noreturn, cold)); /* one line, then abort */

/* For hs_copy_any and hs_fill_any: as much room as may be. LLVM turns a call with this constant into one of memmove, which is the library's. */
static inline size_t hs_any_size(void)
{
    size_t any = SIZE_MAX;
    __asm__("" : "+r"(any));
    return any;
}
extern uintptr_t hs_link_key; /* of this process; 0 where links are not encoded */
