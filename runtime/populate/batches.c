/* Populate "batches": by madvise(2), MADV_POPULATE_WRITE of Linux 5.14, or with a store per page before that. */
#include "populate/batches.h"

#include "counting/counting.h"

#include <errno.h>
#include <sys/mman.h>

enum { POPULATE_WRITE = 23 }; /* MADV_POPULATE_WRITE, which the headers of older systems lack */

void populate(void *start, size_t bytes)
{
    if (bytes == 0)
        return;
    int saved = errno;
    count_system(COUNT_MADVISE);
    if (madvise(start, bytes, POPULATE_WRITE) != 0 && errno == EINVAL)
        for (size_t page = 0; page < bytes; page += PAGE_BYTES)
            *(volatile char *)((char *)start + page) = 0;
    errno = saved;
}
