/* Huge pages "always": all memory lies on them. Adds nothing to struct heap. */
#pragma once

enum { THP_ALIGNMENT = HUGE_PAGE_BYTES };

static inline bool thp_superslab(uint64_t mapped, size_t stride)
{
    return true;
}

static inline bool thp_mapping(void)
{
    return true;
}

static inline void thp_advise(void *start, size_t bytes, bool huge)
{
    if (huge)
        os_huge_pages(start, bytes, true);
}
