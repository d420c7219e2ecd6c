/* Huge pages "grown": superslabs of short blocks, and what lies beyond the first bytes. Adds nothing to struct heap. */
#pragma once

enum { THP_ALIGNMENT = HUGE_PAGE_BYTES };

static inline bool thp_superslab(uint64_t mapped, size_t stride)
{
    return mapped >= THP_SLABS_FROM_BYTES && stride <= THP_BLOCK_BYTES;
}

static inline bool thp_mapping(void)
{
    return THP_RUNS_FROM_BYTES == 0;
}

static inline void thp_advise(void *start, size_t bytes, bool huge)
{
    if (huge)
        os_huge_pages(start, bytes, true);
}
