/* --bytes: what glibc's bytes are for at the trace's peak of live bytes, by mallinfo2(3) and the live blocks. */
#define _GNU_SOURCE
#include <malloc.h>
#include <stdio.h>

#include "replay.h"

enum { SIZE_WORD = sizeof(size_t), MAPPED = 2 }; /* glibc's chunks: the word before a block, and its bit of a mapping */

struct bytes bytes_count(const struct block *table, uint64_t slots)
{
    struct mallinfo2 info = mallinfo2();
    struct bytes found = {.known = true, .top = info.keepcost, .bins = info.fordblks - info.keepcost};
    uint64_t chunks = 0, mapped_asked = 0;
    for (uint64_t slot = 0; slot < slots; slot++) {
        const struct block *block = &table[slot];
        if (block->address == NULL)
            continue;
        found.asked += block->bytes;
        if (((const size_t *)(const void *)block->address)[-1] & MAPPED)
            mapped_asked += block->bytes;
        else
            chunks += malloc_usable_size(block->address) + SIZE_WORD;
    }
    found.rounding = chunks - (found.asked - mapped_asked);
    found.mapped_rounding = info.hblkhd - mapped_asked;
    found.thread_caches = info.uordblks - chunks;
    found.committed = info.arena + info.hblkhd;
    return found;
}

int bytes_text(const struct bytes *of, char *text, size_t room)
{
    if (!of->known)
        return snprintf(text, room, "null");
    return snprintf(text, room,
                    "{\"asked\": %lu, \"rounding\": %lu, \"mapped_rounding\": %lu, \"thread_caches\": %lu, "
                    "\"bins\": %lu, \"top\": %lu, \"committed\": %lu}",
                    of->asked, of->rounding, of->mapped_rounding, of->thread_caches, of->bins, of->top, of->committed);
}
