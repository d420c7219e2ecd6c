/* Huge pages in the run span (docs/machine-rooms.md). Under the large lock.
 *
 * thp_runs_writable: pages became writable: tells the system what they want.
 * thp_runs_whole: are pages committed by whole huge pages, with this top?
 * thp_runs_reused: pages of free runs that had gone back are handed out.
 * thp_runs_look: before a run is handed out: are there huge pages for what the program does not write?
 * thp_runs_reset: the span is empty again. */
#pragma once

#include "2_system/thp/thp.h"
#include "7_large/run_span.h"

#include THP_RUNS
