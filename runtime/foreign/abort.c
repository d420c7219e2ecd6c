/* Foreign pointers, policy abort: the program gave a pointer that is no block of this heap, and ends. */
#include "foreign/foreign.h"

#include "hardening/hardening.h"

__attribute__((visibility("default"))) extern const char heapsmith_no_strangers[]; /* tells the driver of verify */
const char heapsmith_no_strangers[] = "foreign pointers end the program";

void foreign_free(void *block)
{
    hardening_bad_free(block);
}

void *foreign_realloc(void *block, size_t bytes)
{
    hs_misuse("realloc of what is no block in use", block);
}

size_t foreign_usable(void *block)
{
    hs_misuse("size of what is no block in use", block);
}
