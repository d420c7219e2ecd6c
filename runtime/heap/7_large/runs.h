/* Runs: blocks of whole pages out of one reserved span (docs/machine.md, 'runs'). Under the large lock unless it says
 * otherwise. A block is freed in two steps: claimed, which makes it no block any more, then cached or freed. */
#pragma once

#include "1_base/cold.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct run_census {
    size_t used_pages;      /* of runs with the program */
    size_t gone_pages;      /* of runs freed by it that are not in the bins: cached */
    size_t runs_gone;       /* how many these are */
    size_t committed_pages; /* used + gone + the committed ones of free runs + those above top */
};

void *runs_reuse(size_t pages, bool *zero); /* of free pages; NULL: none serve. *zero: it reads as zero */
void *runs_grow(size_t pages, bool *zero);  /* where none serve: top rises. NULL without memory */
void runs_free(void *block);                /* a claimed block */
void runs_left(void *block);                /* likewise, whose pages are a huge block's now */
bool runs_extend(void *block, size_t pages);
size_t runs_pages(const void *block);   /* of a block in use; 0 if it is none. Without the lock */
void runs_unclaim(void *block);         /* goes to the program again. Without the lock */
/* runs_claim (run_span.h): its pages, and it is RUN_GONE; 0 if it is no block in use. Without the lock */
int64_t runs_number(const void *block); /* number of the first page. Without the lock */
bool runs_span_holds(const void *address); /* block or not. Without the lock */
COLD struct run_census runs_census(void);
COLD void runs_check(void);
COLD void runs_reset(size_t span_bytes);
