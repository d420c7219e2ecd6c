/* --bytes: what glibc's bytes are for at the trace's peak of live bytes, by mallinfo2(3) and the chunks of its heaps. */
#define _GNU_SOURCE
#include <errno.h>
#include <malloc.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "chunks.h"
#include "waits.h"

enum { SIZE_WORD = sizeof(size_t), MAPPED = 2 }; /* glibc's chunks: the word before a block, and its bit of a mapping */

/* The bytes as mallinfo2 and the blocks tell them: of the free ends of heaps it knows that of the main one. */
static struct bytes told(const struct mallinfo2 *info, const struct block *table, uint64_t slots)
{
    struct bytes found = {.known = true, .top = info->keepcost, .bins = info->fordblks - info->keepcost};
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
    found.mapped_rounding = info->hblkhd - mapped_asked;
    found.thread_caches = info->uordblks - chunks;
    found.committed = info->arena + info->hblkhd;
    return found;
}

/* Do the chunks add up to what mallinfo2 says? */
static bool agree(const struct mallinfo2 *info, const struct tally *now)
{
    uint64_t live = now->asked.bytes + now->rounding.bytes;
    return live + now->other.bytes + now->freed.bytes + now->top.bytes + now->heads.bytes == info->arena &&
           now->freed.bytes + now->top.bytes + info->fsmblks == info->fordblks &&
           now->mapped_asked.bytes + now->mapped_rounding.bytes == info->hblkhd;
}

/* The same by the chunks, with what is resident. Glibc marks chunks in fast bins as in use, and malloc_trim empties those bins:
 * what is in use and no live block after it is in thread caches. It changes this process, which ends then. */
static void count_chunks(const struct mallinfo2 *info, const struct block *table, uint64_t slots, struct bytes *found)
{
    struct tally now, trimmed;
    if (!chunks_find() || !chunks_tally(table, slots, &now) || !agree(info, &now))
        return;
    malloc_trim(0);
    if (!chunks_tally(table, slots, &trimmed) || now.other.bytes - trimmed.other.bytes != info->fsmblks)
        return;
    found->by_chunk = true;
    found->arenas = now.heads.bytes;
    found->thread_caches = trimmed.other.bytes;
    found->bins = now.freed.bytes + info->fsmblks;
    found->top = now.top.bytes;
    found->resident = (struct resident_bytes){
        .asked = now.asked.resident + now.mapped_asked.resident,
        .rounding = now.rounding.resident,
        .mapped_rounding = now.mapped_rounding.resident,
        .thread_caches = trimmed.other.resident,
        .arenas = now.heads.resident,
        .bins = now.freed.resident + now.other.resident - trimmed.other.resident,
        .top = now.top.resident,
    };
}

/* In a child of fork, so that the heaps of this process stay as they are. */
struct bytes bytes_count(struct replay *r)
{
    const struct block *table = r->table;
    uint64_t slots = r->script.header->slots;
    struct bytes *found = mmap(NULL, sizeof *found, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    int status = 0;
    if (found == MAP_FAILED)
        fail(2, "replay: bytes: %s", strerror(errno));
    pid_t child = fork();
    if (child < 0)
        fail(2, "replay: bytes: fork: %s", strerror(errno));
    if (child == 0) {
        struct mallinfo2 info = mallinfo2();
        *found = told(&info, table, slots);
        count_chunks(&info, table, slots, found);
        _exit(0);
    }
    wait_begin(&r->workers[0], WAIT_BYTES, r->workers[0].position, (uint64_t)child);
    while (waitpid(child, &status, 0) < 0 && errno == EINTR)
        ;
    wait_end(&r->workers[0]);
    if (status != 0)
        fail(2, "replay: bytes: the process that reads the heaps ended with wait status %d", status);
    return *found;
}

static int resident_text(const struct resident_bytes *of, char *text, size_t room)
{
    return snprintf(text, room,
                    "{\"asked\": %lu, \"rounding\": %lu, \"mapped_rounding\": %lu, \"thread_caches\": %lu, "
                    "\"arenas\": %lu, \"bins\": %lu, \"top\": %lu}",
                    of->asked, of->rounding, of->mapped_rounding, of->thread_caches, of->arenas, of->bins, of->top);
}

int bytes_text(const struct bytes *of, char *text, size_t room)
{
    char resident[400] = "null";
    if (!of->known)
        return snprintf(text, room, "null");
    if (of->by_chunk)
        resident_text(&of->resident, resident, sizeof resident);
    return snprintf(text, room,
                    "{\"asked\": %lu, \"rounding\": %lu, \"mapped_rounding\": %lu, \"thread_caches\": %lu, "
                    "\"arenas\": %lu, \"bins\": %lu, \"top\": %lu, \"committed\": %lu, \"resident\": %s}",
                    of->asked, of->rounding, of->mapped_rounding, of->thread_caches, of->arenas, of->bins, of->top, of->committed,
                    resident);
}
