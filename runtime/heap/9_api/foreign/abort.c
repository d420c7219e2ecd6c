/* Foreign pointers, policy abort: they end the program, unless another allocator may have made them: then they go there. */
#include "9_api/foreign/foreign.h"

#include "9_api/foreign/elsewhere.h"
#include "4_blocks/hardening/hardening.h"

void foreign_know(void)
{
    elsewhere_know();
}

void foreign_free(void *block)
{
    if (!elsewhere_in_use())
        hardening_bad_free(block);
    elsewhere_free(block);
}

void *foreign_realloc(void *block, size_t bytes)
{
    if (!elsewhere_in_use())
        hs_misuse("realloc of what is no block in use", block);
    return elsewhere_realloc(block, bytes);
}

size_t foreign_usable(void *block)
{
    if (!elsewhere_in_use())
        hs_misuse("size of what is no block in use", block);
    return elsewhere_usable(block);
}
