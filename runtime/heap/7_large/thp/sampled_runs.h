/* Runs on huge pages beyond the first, which keep small pages, where the program writes what it asks for. */
#pragma once

#define SMALL_PAGES (THP_RUNS_FROM_BYTES / PAGE_BYTES) /* a multiple of HUGE_PAGE_PAGES, less than RUN_SPAN_PAGES */

void thp_runs_writable(size_t first, size_t end);

static inline bool thp_runs_whole(size_t top)
{
    return top > SMALL_PAGES;
}

void thp_runs_reused(uint32_t length);
void thp_runs_look(void);
void thp_runs_reset(void);
