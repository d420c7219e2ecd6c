/* Populate "batches": the pages of runs, by one call for each extent that is not committed. */
#include "2_system/populate/populate.h"

#include "7_large/run_extents.h"
#include "7_large/run_pages.h"

void populate_run_taken(uint32_t first, uint32_t length)
{
    uint32_t end = first + length;
    for (uint32_t page = first; page < end; page = extent_end(page, end))
        if (hs_runs.page[page].holds != EXTENT_COMMITTED)
            populate(hs_runs.start + (size_t)page * PAGE_BYTES, (size_t)(extent_end(page, end) - page) * PAGE_BYTES);
}
