/* --bytes: what glibc's bytes are for at the trace's peak of live bytes, by mallinfo2(3) and malloc_usable_size(3). */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <malloc.h>
#include <stdio.h>

#include "replay.h"

enum { HEADER_BYTES = 8 }; /* of a block, in front of it */

struct figures bytes_figures(void)
{
    struct figures (*ask)(void) = (struct figures (*)(void))dlsym(RTLD_DEFAULT, "mallinfo2");
    return ask != NULL ? ask() : (struct figures){0};
}

struct bytes bytes_count(const struct block *table, uint64_t slots)
{
    struct figures info = bytes_figures();
    struct bytes found = {.known = info.arena + info.hblkhd > 0, .top = info.keepcost, .bins = info.fordblks - info.keepcost};
    uint64_t blocks = 0;
    for (uint64_t slot = 0; slot < slots; slot++) {
        if (table[slot].address == NULL)
            continue;
        found.asked += table[slot].bytes;
        blocks += malloc_usable_size(table[slot].address) + HEADER_BYTES;
    }
    found.rounding = blocks - found.asked;
    found.thread_caches = info.uordblks + info.hblkhd - blocks;
    found.committed = info.arena + info.hblkhd;
    return found;
}

int bytes_text(const struct bytes *of, char *text, size_t room)
{
    if (!of->known)
        return snprintf(text, room, "null");
    return snprintf(text, room,
                    "{\"asked\": %lu, \"rounding\": %lu, \"thread_caches\": %lu, \"bins\": %lu, \"top\": %lu, \"committed\": %lu}",
                    of->asked, of->rounding, of->thread_caches, of->bins, of->top, of->committed);
}
