/* Foreign pointers, policy probe: each free asks the system whether the page is mapped, before anything else is looked at.
 * mincore(2) fails for a page that is not. */
#include "9_api/foreign/probe.h"

#include "1_base/counting/counting.h"
#include "3_records/span.h"

#include <errno.h>
#include <sys/mman.h>

bool foreign_ours(const void *block)
{
    if (block == NULL)
        return false;
    int saved = errno;
    unsigned char resident;
    count_system(COUNT_MINCORE);
    bool is_mapped = mincore((void *)((uintptr_t)block & -(uintptr_t)PAGE_BYTES), PAGE_BYTES, &resident) == 0;
    errno = saved;
    return is_mapped && in_slab_span(block);
}
