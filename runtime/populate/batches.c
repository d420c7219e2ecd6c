/* Populate "batches": by one call for whatever is committed at once. */
#include "populate/batches.h"

#include "os.h"

void populate(void *start, size_t bytes)
{
    if (bytes > 0)
        os_populate(start, bytes);
}
