/* What glibc adds to the malloc family: mallinfo(3), malloc_stats(3), malloc_info(3), malloc_trim(3), mallopt(3); mlockall(2). */
#include "1_base/cold.h"
#include "8_threads/large.h"
#include "6_slabs/slabs.h"
#include "6_slabs/slabs_back.h"
#include "1_base/text.h"
#include "8_threads/thread.h"
#include "6_slabs/transfer/transfer.h"
#include "9_api/tally.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

/* As <malloc.h> has them since glibc 2.33. */
struct mallinfo2 {
    size_t arena, ordblks, smblks, hblks, hblkhd, usmblks, fsmblks, uordblks, fordblks, keepcost;
};
struct mallinfo {
    int arena, ordblks, smblks, hblks, hblkhd, usmblks, fsmblks, uordblks, fordblks, keepcost;
};

#pragma GCC visibility push(default)
COLD struct mallinfo2 mallinfo2(void);
COLD struct mallinfo mallinfo(void);
COLD void malloc_stats(void);
COLD int malloc_info(int options, FILE *stream);
COLD int malloc_trim(size_t pad);
COLD int mallopt(int parameter, int value);
COLD int mlockall(int flags);
#pragma GCC visibility pop

/* Bytes, but for `blocks`, `huge_blocks` and `slabs`. */
struct census {
    size_t slab_bytes, out_bytes, run_bytes, used_bytes, huge_bytes, huge_blocks;
    size_t parked_bytes, parked_blocks;
    size_t empty_slabs;
};

static struct census take_census(void)
{
    struct census census = { 0 };
    if (!hs_started())
        return census;
    slabs_census(&census.slab_bytes, &census.out_bytes);
    hs_large_census(&census.run_bytes, &census.used_bytes, &census.huge_bytes, &census.huge_blocks);
    int64_t empty_slabs = (int64_t)tally_look(&hs_count.slabs);
    for (unsigned class = 0; class < CLASS_COUNT; class++) {
        struct tally tally = tally_class(class);
        size_t parked = at_least_none(tally.parked);
        census.parked_blocks += parked;
        census.parked_bytes += parked * hs_class[class].stride;
        empty_slabs += tally.emptied;
    }
    census.empty_slabs = at_least_none(empty_slabs);
    return census;
}

static size_t smaller(size_t one, size_t other)
{
    return one < other ? one : other;
}

/* Of the two spans, without huge blocks. */
static size_t bytes_in_use(const struct census *census)
{
    return census->out_bytes - smaller(census->out_bytes, census->parked_bytes) + census->used_bytes;
}

static size_t bytes_free(const struct census *census)
{
    size_t arena = census->slab_bytes + census->run_bytes;
    return arena - smaller(arena, bytes_in_use(census));
}

struct mallinfo2 mallinfo2(void)
{
    struct census census = take_census();
    size_t slab_free = census.slab_bytes - smaller(census.slab_bytes, census.out_bytes);
    size_t run_free = census.run_bytes - smaller(census.run_bytes, census.used_bytes);
    return (struct mallinfo2){
        .arena = census.slab_bytes + census.run_bytes,
        .ordblks = census.empty_slabs,
        .smblks = census.parked_blocks,
        .hblks = census.huge_blocks,
        .hblkhd = census.huge_bytes,
        .fsmblks = census.parked_bytes,
        .uordblks = bytes_in_use(&census),
        .fordblks = bytes_free(&census),
        .keepcost = smaller(census.empty_slabs * SLAB_BYTES, slab_free) + run_free,
    };
}

/* What does not fit an int is INT_MAX: mallinfo2 has it whole. */
struct mallinfo mallinfo(void)
{
    struct mallinfo2 whole = mallinfo2();
    struct mallinfo info;
    const size_t *from = (const size_t *)&whole;
    int *to = (int *)&info;
    for (size_t field = 0; field < sizeof info / sizeof *to; field++)
        to[field] = (int)smaller(from[field], INT_MAX);
    return info;
}

static void line(struct text *out, const char *what, size_t figure)
{
    text_string(out, what);
    text_number(out, figure);
    text_string(out, "\n");
}

void malloc_stats(void)
{
    struct census census = take_census();
    char lines[2 * TEXT_LINE];
    struct text out = text_to(STDERR_FILENO, lines, sizeof lines);
    text_string(&out, "heapsmith ");
    text_string(&out, hs_design);
    text_string(&out, "\n");
    line(&out, "slab bytes       = ", census.slab_bytes);
    line(&out, "run bytes        = ", census.run_bytes);
    line(&out, "in use bytes     = ", bytes_in_use(&census));
    line(&out, "free bytes       = ", bytes_free(&census));
    line(&out, "huge blocks      = ", census.huge_blocks);
    line(&out, "huge bytes       = ", census.huge_bytes);
    line(&out, "max system bytes = ", tally_look(&hs_count.committed_peak));
    text_end(&out);
}

/* The smallest request that the class serves. */
static size_t class_from(unsigned class)
{
    return class == 0 ? 0 : hs_class[class - 1].usable + 1;
}

static void info_sizes(FILE *stream)
{
    fputs("<sizes>\n", stream);
    for (unsigned class = 0; class < CLASS_COUNT; class++) {
        size_t blocks = tally_class(class).parked;
        if (blocks > 0)
            fprintf(stream, "  <size from=\"%zu\" to=\"%u\" total=\"%zu\" count=\"%zu\"/>\n", class_from(class),
                    hs_class[class].usable, blocks * hs_class[class].stride, blocks);
    }
    fputs("</sizes>\n", stream);
}

static void info_totals(FILE *stream, const struct census *census)
{
    size_t rest = bytes_free(census) - smaller(bytes_free(census), census->parked_bytes);
    fprintf(stream, "<total type=\"fast\" count=\"%zu\" size=\"%zu\"/>\n", census->parked_blocks, census->parked_bytes);
    fprintf(stream, "<total type=\"rest\" count=\"%zu\" size=\"%zu\"/>\n", census->empty_slabs, rest);
}

static void info_system(FILE *stream, size_t arena)
{
    size_t peak = tally_look(&hs_count.committed_peak);
    fprintf(stream, "<system type=\"current\" size=\"%zu\"/>\n<system type=\"max\" size=\"%zu\"/>\n", arena, peak);
    fprintf(stream, "<aspace type=\"total\" size=\"%zu\"/>\n<aspace type=\"mprotect\" size=\"%zu\"/>\n", arena, arena);
}

COLD int malloc_info(int options, FILE *stream)
{
    if (options != 0)
        return EINVAL;
    struct census census = take_census();
    size_t arena = census.slab_bytes + census.run_bytes;
    fputs("<malloc version=\"1\">\n<heap nr=\"0\">\n", stream);
    info_sizes(stream);
    info_totals(stream, &census);
    info_system(stream, arena);
    fputs("</heap>\n", stream);
    info_totals(stream, &census);
    fprintf(stream, "<total type=\"mmap\" count=\"%zu\" size=\"%zu\"/>\n", census.huge_blocks, census.huge_bytes);
    info_system(stream, arena);
    fputs("</malloc>\n", stream);
    return 0;
}

COLD int malloc_trim(size_t pad)
{
    if (!hs_started())
        return 0;
    int saved = errno;
    struct heap *own = hs_own_heap();
    if (own != &hs_no_heap)
        hs_drain_fronts(own);
    size_t bytes = hs_large_trim(hs_self);
    hs_transfer_empty();
    bytes += slabs_trim();
    errno = saved;
    return bytes > 0;
}

/* M_MXFAST 1 to M_KEEP 4, and M_TRIM_THRESHOLD -1 to M_ARENA_MAX -8, are taken note of by nobody: a design is fixed when it
 * is generated. */
COLD int mallopt(int parameter, int value)
{
    return parameter != 0 && parameter >= -8 && parameter <= 4;
}

/* RLIMIT_MEMLOCK counts all that is mapped then, with access or without: what is only reserved would make the call fail. */
COLD int mlockall(int flags)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_MEMLOCK, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY)
        hs_large_prepare_locking();
    return (int)syscall(SYS_mlockall, flags);
}
