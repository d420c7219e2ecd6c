/* Populate "batches": by one call for whatever is committed at once. */
#include "2_system/populate/batches.h"

#include "2_system/os.h"

void populate(void *start, size_t bytes)
{
    if (bytes > 0)
        os_populate(start, bytes);
}
