/* The owner drains its list after some flushes too. */
#pragma once

#include "3_records/heap.h"

void remote_flush_ended(struct heap *heap);
