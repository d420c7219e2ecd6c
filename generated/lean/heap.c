/* All of this heap but its hit paths: the tables and the parts of the runtime that it needs, in one unit.
 *
 * Emitted by heapsmith 0.1.0 from design "lean", content hash 1c24ab41b973.
 * Do not edit: change the design, then run: heapsmith generate lean -o DIR
 */
#define _GNU_SOURCE /* for all parts, before the first system header */
#include "plan.c"
#include "text.c"
#include "object.c"
#include "os.c"
#include "lock.c"
#include "locks.c"
#include "check.c"
#include "counters.c"
#include "span.c"
#include "rows.c"
#include "hardening/off.c"
#include "classifier/slab_map.c"
#include "choice/address_ordered.c"
#include "empties/shared.c"
#include "release/budget.c"
#include "remote/local_cache.c"
#include "slabs.c"
#include "store.c"
#include "transfer.c"
#include "run_pages.c"
#include "run_extents.c"
#include "run_ages.c"
#include "run_bins.c"
#include "runs.c"
#include "run_cache.c"
#include "huge.c"
#include "thread.c"
#include "large.c"
#include "front/linked_list.c"
#include "stats.c"
#include "foreign/leak.c"
#include "api.c"
#include "glibc.c"
#include "inspect.c"
#include "options.c"
#ifndef HEAPSMITH_ARCHIVE
#include "operators.c"
#endif
