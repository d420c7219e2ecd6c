/* Memory is of no node. */
#pragma once

#include <stdbool.h>

/* In place of those of the system the nodes that a folder describes; false: it describes none. */
static inline bool nodes_told(const char *folder)
{
    (void)folder;
    return true;
}
