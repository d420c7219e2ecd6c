/* Huge pages "never": all memory keeps small pages. Adds nothing to struct heap. */
#pragma once

enum { THP_ALIGNMENT = 1 };

static inline bool thp_superslab(uint64_t mapped, size_t stride)
{
    return false;
}

static inline bool thp_mapping(void)
{
    return false;
}

static inline void thp_advise(void *start, size_t bytes, bool huge)
{
    os_huge_pages(start, bytes, false);
}
