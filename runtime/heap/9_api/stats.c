/* What the library reports of itself: its counters as JSON, and the foreign pointers it saw with their top callers. */
#include "9_api/stats.h"

#include "3_records/heap.h"
#include "1_base/counting/counting.h"
#include "1_base/object.h"
#include "8_threads/thread.h"
#include "9_api/tally.h"
#include "moments.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

enum { CALLERS = 64, CALLERS_IN_LINE = 4 };

/* Callers of free, realloc and malloc_usable_size with foreign pointers: the space-saving summary (Metwally, Agrawal and
 * El Abbadi, "Efficient computation of frequent and top-k elements in data streams", 2005). A caller without an entry takes
 * over that of the smallest count and goes on from there, so that a count by one thread is never too small, and too large by
 * at most seen / CALLERS. Lock-free, for a child of fork must not wait: any thread writes, address and count apart, so
 * threads that take over one entry at once may each lose a count. */
struct caller {
    const void *address; /* NULL: free */
    uint64_t count;
};

COLD_DATA static struct caller callers[CALLERS];
static uint64_t seen;
uint64_t stats_foreign_limit = UINT64_MAX;

/* The entry to count the caller in: its own, else a free one, else that of the smallest count. */
static struct caller *entry_for(const void *address)
{
    struct caller *least = &callers[0];
    for (struct caller *entry = callers; entry < callers + CALLERS; entry++) {
        const void *known = __atomic_load_n(&entry->address, __ATOMIC_RELAXED);
        if (known == address || known == NULL)
            return entry;
        if (__atomic_load_n(&entry->count, __ATOMIC_RELAXED) < __atomic_load_n(&least->count, __ATOMIC_RELAXED))
            least = entry;
    }
    return least;
}

/* The entries of now, the largest count first; how many there are. */
static size_t sorted_callers(struct caller sorted[CALLERS])
{
    size_t held = 0;
    for (const struct caller *entry = callers; entry < callers + CALLERS; entry++) {
        struct caller now = { __atomic_load_n(&entry->address, __ATOMIC_RELAXED),
                              __atomic_load_n(&entry->count, __ATOMIC_RELAXED) };
        if (now.address == NULL)
            break;
        size_t place = held++;
        for (; place > 0 && sorted[place - 1].count < now.count; place--)
            sorted[place] = sorted[place - 1];
        sorted[place] = now;
    }
    return held;
}

static void write_line(uint64_t count)
{
    struct caller sorted[CALLERS];
    size_t held = sorted_callers(sorted);
    char line[4 * TEXT_LINE];
    struct text out = text_to(STDERR_FILENO, line, sizeof line);
    text_string(&out, "heapsmith: foreign pointers: ");
    text_number(&out, count);
    text_string(&out, " so far; callers:");
    for (size_t index = 0; index < held && index < CALLERS_IN_LINE; index++) {
        struct object object;
        text_string(&out, index == 0 ? " " : ", ");
        text_number(&out, sorted[index].count);
        text_string(&out, " from ");
        text_hex(&out, (uintptr_t)sorted[index].address, 1);
        if (!object_at(sorted[index].address, &object))
            continue;
        text_string(&out, " (");
        text_string(&out, object.path);
        text_string(&out, "+");
        text_hex(&out, (uintptr_t)sorted[index].address - object.start + object.offset, 1);
        text_string(&out, ")");
    }
    text_string(&out, "\n");
    text_end(&out);
}

/* free leaves errno alone. */
static void report_line(uint64_t count)
{
    int saved = errno;
    write_line(count);
    errno = saved;
}

void hs_foreign_seen(const void *caller)
{
    struct caller *entry = entry_for(caller);
    __atomic_store_n(&entry->address, caller, __ATOMIC_RELAXED);
    __atomic_add_fetch(&entry->count, 1, __ATOMIC_RELAXED);
    uint64_t count = __atomic_add_fetch(&seen, 1, __ATOMIC_RELAXED);
    if (count - 1 == stats_foreign_limit)
        report_line(count);
}

static void json_counters(struct text *out)
{
    text_string(out, ", \"counters\": {");
    for (size_t index = 0; index < HEAP_COUNTERS; index++)
        text_field(out, index == 0 ? "" : ", ", hs_heap_counter[index], heap_counter(index));
    text_string(out, "}");
}

static void json_class(struct text *out, unsigned class)
{
    uint64_t sum[CLASS_COUNTERS];
    class_counters(class, sum);
    text_field(out, class == 0 ? "{" : ", {", "size", hs_class[class].stride);
    text_field(out, ", ", "usable", hs_class[class].usable);
    for (size_t index = 0; index < CLASS_COUNTERS; index++)
        if (class_counted(index))
            text_field(out, ", ", hs_class_counter[index], sum[index]);
    text_string(out, "}");
}

static void json_caller(struct text *out, const struct caller *caller)
{
    struct object object = { .path = "" };
    bool found = object_at(caller->address, &object);
    text_string(out, "{\"address\": \"");
    text_hex(out, (uintptr_t)caller->address, 1);
    text_string(out, "\", \"object\": ");
    text_quoted(out, object.path);
    text_string(out, ", \"offset\": \"");
    text_hex(out, found ? (uintptr_t)caller->address - object.start + object.offset : 0, 1);
    text_field(out, "\", ", "count", caller->count);
    text_string(out, "}");
}

static void json_foreign(struct text *out)
{
    struct caller sorted[CALLERS];
    size_t held = sorted_callers(sorted);
    text_field(out, ", \"foreign\": {", "count", __atomic_load_n(&seen, __ATOMIC_RELAXED));
    text_string(out, ", \"callers\": [");
    for (size_t index = 0; index < held; index++) {
        text_string(out, index == 0 ? "" : ", ");
        json_caller(out, &sorted[index]);
    }
    text_string(out, "]}");
}

/* The second field of /proc/self/statm, proc(5): resident pages. 0 without /proc. */
static uint64_t rss_bytes(void)
{
    char fields[64] = "";
    int fd = open("/proc/self/statm", O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return 0;
    ssize_t held = read(fd, fields, sizeof fields - 1);
    close(fd);
    uint64_t pages = 0;
    const char *digit = fields;
    while (held > 0 && *digit != '\0' && *digit != ' ')
        digit++;
    for (digit += *digit == ' '; *digit >= '0' && *digit <= '9'; digit++)
        pages = pages * 10 + (uint64_t)(*digit - '0');
    return pages * PAGE_BYTES;
}

void stats_json(struct text *out)
{
    struct rusage used;
    getrusage(RUSAGE_SELF, &used);
    text_string(out, "{\"design\": ");
    text_quoted(out, hs_design);
    text_field(out, ", ", "pid", (uint64_t)getpid());
    json_counters(out);
    text_string(out, ", \"classes\": [");
    for (unsigned class = 0; class < CLASS_COUNT; class++)
        json_class(out, class);
    text_string(out, "]");
    on_report(out);
    report_locks(out);
    json_foreign(out);
    uint64_t rss = rss_bytes(), peak = (uint64_t)used.ru_maxrss * 1024;
    text_field(out, ", ", "rss_bytes", rss);
    text_field(out, ", ", "peak_rss_bytes", peak > rss ? peak : rss); /* the kernel updates it a little later */
    text_string(out, "}\n");
}
