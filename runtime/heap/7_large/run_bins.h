/* Bins of free runs by length. Under the large lock. */
#pragma once

#include "1_base/cold.h"

#include <stddef.h>
#include <stdint.h>

void bins_push(uint32_t first, uint32_t length, uint32_t dirty); /* onto its bin, and the age queue if dirty > 0 */
void bins_unlink(uint32_t first);                                /* out of both, RUN_GONE; its length and dirty stay readable */
uint32_t bins_find(uint32_t length); /* a free run of at least `length` pages, 1 + first page; 0 if no bin serves */
COLD size_t bins_check(void);
COLD void bins_reset(void);
