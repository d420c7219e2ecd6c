/* The profile of the samples (profile.h): a copy of their tables, then their text. The lines that begin with # are heapsmith's;
 * the others are a heap profile of gperftools, whose figures are the estimates. */
#define _GNU_SOURCE
#include "9_api/sampling/profile.h"

#include "1_base/text.h"
#include "3_records/heap.h"
#include "9_api/whole_file.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static void numbered(struct text *out, const char *name, uint64_t number)
{
    text_string(out, name);
    text_number(out, number);
}

/* The nearest whole number. */
static void whole_number(struct text *out, double number)
{
    text_number(out, number > 0 ? (uint64_t)(number + 0.5) : 0);
}

/* With a decimal exponent, where it has more digits than a double. */
static void decimal(struct text *out, const char *before, double number)
{
    unsigned exponent = 0;
    for (; number >= (double)((uint64_t)1 << 53); number /= 10)
        exponent++;
    text_string(out, before);
    whole_number(out, number);
    if (exponent > 0)
        numbered(out, "e", exponent);
}

/* Live blocks and bytes, and those of all requests. */
static void profile_figures(struct text *out, const double of[4])
{
    static const char *const between[] = { "", ": ", " [", ": " };
    for (unsigned index = 0; index < 4; index++) {
        text_string(out, between[index]);
        whole_number(out, of[index]);
    }
    text_string(out, "] @");
}

static void profile_head(struct text *out, const struct samples_copy *copy)
{
    double sum[4] = { 0 };
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    for (uint64_t number = 0; number < copy->samples.sites; number++) {
        const struct sample_site *site = &copy->tables.site[number];
        const double of[4] = { site->live_blocks, site->live_bytes, site->allocated.blocks, site->allocated.bytes };
        for (unsigned index = 0; index < 4; index++)
            sum[index] += of[index];
    }
    text_string(out, "heap profile: ");
    profile_figures(out, sum);
    text_string(out, " heapprofile\n# heapsmith profile 1\n# design ");
    text_string(out, hs_design);
    numbered(out, "\n# pid ", (uint64_t)getpid());
    numbered(out, "\n# time_ns ", (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec);
    numbered(out, "\n# mean ", copy->samples.taken > 0 ? copy->samples.mean : hs_sampling_mean());
    numbered(out, "\n# taken ", copy->samples.taken);
    numbered(out, "\n# dropped ", copy->samples.dropped);
    numbered(out, "\n# unsited ", copy->samples.unsited);
    text_string(out, "\n");
}

static void live_samples(struct text *out, const struct samples_copy *copy)
{
    for (const struct sample *sample = copy->tables.sample; sample < copy->tables.sample + SAMPLE_PLACES; sample++) {
        if (sample->block == 0)
            continue;
        numbered(out, "# sample ", sample->number);
        numbered(out, " ", sample->site);
        numbered(out, " ", sample->bytes);
        numbered(out, " ", sample->mean);
        numbered(out, " ", sample->time_ns);
        numbered(out, " ", sample->thread);
        text_string(out, " ");
        text_hex(out, sample->block, 1);
        text_string(out, "\n");
    }
}

static void site_lines(struct text *out, const struct sample_site *site, uint64_t number)
{
    const struct estimate *of = &site->allocated;
    numbered(out, "# site ", number);
    numbered(out, " ", site->samples);
    numbered(out, " ", site->sampled_bytes);
    decimal(out, " ", of->blocks);
    decimal(out, " ", of->bytes);
    decimal(out, " ", of->blocks_variance);
    decimal(out, " ", of->bytes_variance);
    text_string(out, "\n");
    profile_figures(out, (double[4]){ site->live_blocks, site->live_bytes, of->blocks, of->bytes });
    for (uint64_t index = 0; index < site->depth; index++) {
        text_string(out, " ");
        text_hex(out, site->frame[index], 1);
    }
    text_string(out, "\n");
}

static void profile_mappings(struct text *out)
{
    char part[TEXT_LINE];
    int file = (int)syscall(SYS_openat, AT_FDCWD, "/proc/self/maps", O_RDONLY | O_CLOEXEC);
    text_string(out, "MAPPED_LIBRARIES:\n");
    for (long got = 1; file >= 0 && got > 0;) {
        got = syscall(SYS_read, file, part, sizeof part);
        text_bytes(out, part, got > 0 ? (size_t)got : 0);
    }
    if (file >= 0)
        syscall(SYS_close, file);
}

bool profile_write(int fd)
{
    enum { ROOM = 1 << 16 };
    struct samples_copy *copy = hs_samples_copy();
    char *room = copy == NULL ? MAP_FAILED : mmap(NULL, ROOM, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    bool written = false;
    if (room != MAP_FAILED) {
        struct text out = text_to(fd, room, ROOM);
        profile_head(&out, copy);
        live_samples(&out, copy);
        for (uint64_t number = 0; number < copy->samples.sites; number++)
            if (copy->tables.site[number].samples > 0)
                site_lines(&out, &copy->tables.site[number], number);
        profile_mappings(&out);
        written = text_end(&out);
        int failed = errno;
        munmap(room, ROOM);
        errno = failed;
    }
    if (copy != NULL)
        hs_samples_drop(copy);
    return written;
}

/* The process that writes one: a child of fork does not wait for a writer that it does not have. */
int hs_profile_dump(const char *file)
{
    static int dumper;
    COLD_DATA static struct whole_file dumped;
    int self = getpid(), before = __atomic_load_n(&dumper, __ATOMIC_RELAXED);
    if (before == self || !__atomic_compare_exchange_n(&dumper, &before, self, false, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED)) {
        errno = EBUSY;
        return -1;
    }
    int cancel_state; /* a thread that is cancelled here would leave all later ones busy */
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel_state);
    bool written = write_whole_file(&dumped, file, profile_write);
    pthread_setcancelstate(cancel_state, NULL);
    __atomic_store_n(&dumper, 0, __ATOMIC_RELEASE);
    return written ? 0 : -1;
}
