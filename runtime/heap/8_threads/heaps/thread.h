/* Heaps of threads. */
#pragma once

#include "3_records/heap.h"

/* Stacks that are open from a heap's start: the first class's slots begin at slot + 1, so its stack would look open and have no
 * room. */
#define OPEN_AT_ONCE 1
