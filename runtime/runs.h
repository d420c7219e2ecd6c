/* Runs: blocks of whole pages out of one reserved span (docs/machine.md section 8). Under the large lock. */
#ifndef HEAPSMITH_RUNS_H
#define HEAPSMITH_RUNS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

bool runs_init(size_t span_limit); /* a smaller span where the system grants no more */
void *runs_alloc(size_t pages, bool *zero); /* NULL without memory; *zero: no page of it was touched before */
void runs_free(void *block);
size_t runs_pages(const void *block); /* of a block handed out; 0 if it is none */
bool runs_extend(void *block, size_t pages);
int64_t runs_number(const void *block); /* number of the first page */
void runs_check(void);
bool runs_reset(void);

#endif
