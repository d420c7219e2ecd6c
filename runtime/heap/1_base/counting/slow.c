/* Counting "slow": the counts of locks of the checked build. */
#include "1_base/counting/counting.h"

#if HEAPSMITH_CHECKED
#include "1_base/counting/lock_table.h"
#endif
