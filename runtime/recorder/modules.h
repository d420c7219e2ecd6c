/* Which files the code of this process comes from: its executable mappings, told to the spool as they are met. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* Have all mappings that these addresses lie in told, if that is possible. The caller holds the lock of the stacks. */
void modules_cover(const uint64_t *addresses, uint32_t count);

/* Some mappings have gone: look again before the next stack is told. */
void modules_stale(void);

/* Room for a record of `words` words in the window of stacks (stacks.c); NULL if there is none. */
uint64_t *stack_room(uint32_t words);

/* The record in that room is complete but for its word 0. */
void stack_written(uint64_t *record, uint64_t word, uint32_t words);
