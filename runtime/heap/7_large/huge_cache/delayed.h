/* Huge cache "delayed": some mappings wait for a while. */
#pragma once

bool huge_cache_keeps(size_t pages);       /* would a freed mapping so long wait? Without the lock */
void huge_cache_put(struct huge mapping);  /* it waits; huge_cache_gone follows under the same hold of the lock */
struct huge huge_cache_take(size_t pages); /* the newest that fits; no start: none does */
struct huge huge_cache_gone(bool all);     /* the oldest, if it waited too long, too many wait, or all must go */
size_t huge_cache_mappings(void);          /* that wait */
COLD void huge_cache_check(void);          /* checked build */
