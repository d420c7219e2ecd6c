/* The page: what the system maps, protects and gives back is of whole pages. */
#pragma once

#include "1_base/arch/arch.h"

#include "1_base/cold.h"

#include <stddef.h>

/* page_learn: asks the system, when the library starts and where pages matter before that; ends the program where they are
 * longer than the library can do with. */
#if PAGES_VARY
extern unsigned hs_page_shift;
#define PAGE_BYTES ((size_t)1 << hs_page_shift)
enum { MOST_PAGE_BYTES = 1 << 16 };
COLD void page_learn(void);
#else
enum { PAGE_BYTES = 4096, MOST_PAGE_BYTES = PAGE_BYTES };
static inline void page_learn(void)
{
}
#endif

/* The least multiple of a page that is as long. */
static inline size_t whole_pages(size_t bytes)
{
    return (bytes + PAGE_BYTES - 1) & -(size_t)PAGE_BYTES;
}
