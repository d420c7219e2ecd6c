/* Mapping and checking of the replay script. */
#include "script.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "replay.h"

static const char *map_file(const char *path, uint64_t *bytes)
{
    struct stat state;
    int file = open(path, O_RDONLY | O_CLOEXEC);
    if (file < 0 || fstat(file, &state) != 0)
        fail(2, "replay: %s: %s", path, strerror(errno));
    *bytes = (uint64_t)state.st_size;
    if (*bytes < sizeof(struct script_header))
        fail(2, "replay: %s: %lu bytes hold no script header", path, *bytes);
    char *base = mmap(NULL, *bytes, PROT_READ, MAP_SHARED, file, 0);
    if (base == MAP_FAILED)
        fail(2, "replay: %s: cannot be mapped: %s", path, strerror(errno));
    close(file);
    madvise(base, *bytes, MADV_SEQUENTIAL);
    return base;
}

static bool header_fits(const struct script_header *h, uint64_t bytes)
{
    if (memcmp(h->magic, "HSREPLAY", sizeof h->magic) != 0 || h->version != SCRIPT_VERSION || h->streams == 0)
        return false;
    if (h->events > bytes / sizeof(struct event) || h->segments > bytes / sizeof(struct segment))
        return false;
    return bytes == sizeof *h + h->events * sizeof(struct event) + (3ull * h->streams + 2) * sizeof(uint64_t)
                        + h->segments * sizeof(struct segment) + h->samples * sizeof(struct sample);
}

static bool segments_fit(const struct script *s)
{
    const struct script_header *h = s->header;
    for (uint32_t t = 0; t < h->streams; t++)
        if (s->first_segment[t] > s->first_segment[t + 1])
            return false;
    for (uint64_t i = 0; i < h->segments; i++)
        if (s->segments[i].first > h->events || s->segments[i].count > h->events - s->segments[i].first
            || s->segments[i].window >= h->segments)
            return false;
    return s->first_segment[h->streams] == h->segments;
}

static bool samples_fit(const struct script *s)
{
    const struct script_header *h = s->header;
    for (uint32_t t = 0; t < h->streams; t++) {
        if (s->first_sample[t] > s->first_sample[t + 1] || s->first_sample[t + 1] > h->samples)
            return false;
        uint64_t before = 1;
        for (uint64_t i = s->first_sample[t]; i < s->first_sample[t + 1]; before = s->samples[i++].position)
            if (s->samples[i].position < before || s->samples[i].moment >= MOMENTS)
                return false;
    }
    return s->first_sample[0] == 0 && s->first_sample[h->streams] == h->samples;
}

struct script script_open(const char *path, uint64_t resident_limit_bytes)
{
    uint64_t bytes;
    const char *base = map_file(path, &bytes);
    struct script s = {.header = (const struct script_header *)base};
    if (!header_fits(s.header, bytes))
        fail(2, "replay: %s: not a whole replay script of version %d", path, SCRIPT_VERSION);
    s.events = (const struct event *)(base + sizeof *s.header);
    s.first_segment = (const uint64_t *)(s.events + s.header->events);
    s.peak_positions = s.first_segment + s.header->streams + 1;
    s.first_sample = s.peak_positions + s.header->streams;
    s.segments = (const struct segment *)(s.first_sample + s.header->streams + 1);
    s.samples = (const struct sample *)(s.segments + s.header->segments);
    if (!segments_fit(&s))
        fail(2, "replay: %s: a segment lies outside the events or windows", path);
    if (!samples_fit(&s))
        fail(2, "replay: %s: the samples are not those of its streams", path);
    s.resident = bytes <= resident_limit_bytes;
    if (s.resident)
        script_fetch(s.events, s.header->events);
    return s;
}

void script_fetch(const struct event *events, uint64_t n)
{
    const volatile char *first = (const volatile char *)events;
    for (uint64_t at = 0; at < n * sizeof *events; at += PAGE_BYTES)
        (void)first[at];
    if (n > 0)
        (void)first[n * sizeof *events - 1];
}

void script_forget(const struct event *events, uint64_t n)
{
    uintptr_t begin = (uintptr_t)events / PAGE_BYTES * PAGE_BYTES;
    uintptr_t end = (uintptr_t)(events + n) / PAGE_BYTES * PAGE_BYTES;
    if (end > begin)
        madvise((void *)begin, end - begin, MADV_DONTNEED);
}
