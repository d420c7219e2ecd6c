/* The heap's figures in Prometheus' text format: the names and the rules of `heapsmith top` (docs/live.md), from inside. */
#include "9_api/metrics.h"

#include "1_base/counting/counting.h"
#include "2_system/read_text.h"
#include "3_records/span.h"
#include "6_slabs/slabs.h"
#include "7_large/run_span.h"
#include "8_threads/thread.h"
#include "9_api/tally.h"

#include <string.h>
#include <unistd.h>

enum { SYSTEM_TEXT = 512, THREADS_FIELD = 20, RESIDENT_FIELD = 24 }; /* proc(5): fields of /proc/PID/stat */
#define COUNTED(field) (offsetof(struct heap_count, field) / sizeof(uint64_t))

/* The labels of the process; what slabs hold, by class, and runs, in bytes but for `out`. Of one caller at a time, and too large
 * for a signal's stack. */
COLD_DATA static struct {
    char labels[4 * SYSTEM_TEXT];
    uint64_t out[CLASS_COUNT], of_class[CLASS_COUNT], slabs, empty, used, gone, free;
} metered;

/* A slab's record is there for ever once it is listed, and a page's once `top` is above it: no lock is needed to read them. */
static void look_at_slabs(void)
{
    for (const struct slab *slab = __atomic_load_n(&hs_last_slab, __ATOMIC_ACQUIRE); slab != NULL; slab = slab->earlier) {
        unsigned class = __atomic_load_n(&slab->class, __ATOMIC_RELAXED);
        bool pooled = __atomic_load_n(&slab->pooled, __ATOMIC_RELAXED);
        metered.out[class] += word_look(&slab->out);
        *(pooled ? &metered.empty : &metered.of_class[class]) += word_look(&slab->committed);
        metered.slabs++;
    }
}

static void look_at_runs(void)
{
    uint32_t top = __atomic_load_n(&hs_runs.top, __ATOMIC_ACQUIRE);
    for (uint32_t page = 0; page < top; page++) {
        enum run_state state = run_state(page);
        uint64_t pages = word_look(state == RUN_FREE ? &hs_runs.page[page].dirty : &hs_runs.page[page].length);
        if (state != RUN_NONE)
            *(state == RUN_FREE ? &metered.free : state == RUN_USED ? &metered.used : &metered.gone) += pages * PAGE_BYTES;
    }
}

static void describe(struct text *out, const char *name, const char *kind, const char *help)
{
    const char *part[] = { "# HELP heapsmith_", name, " ", help, "\n# TYPE heapsmith_", name, " ", kind, "\n" };
    for (size_t index = 0; index < sizeof part / sizeof *part; index++)
        text_string(out, part[index]);
}

/* A label's value: what is no printable character of ASCII is a question mark. */
static void escaped(struct text *out, const char *from, size_t length)
{
    for (size_t index = 0; index < length && from[index] != '\0'; index++) {
        char byte = from[index];
        if (byte == '"' || byte == '\\')
            text_string(out, "\\");
        text_bytes(out, byte < ' ' || byte > '~' ? "?" : &byte, 1);
    }
}

/* The number of the process, the first word of its command line, the design and its hash. */
static void label_process(void)
{
    char command[SYSTEM_TEXT];
    struct text labels = text_to(-1, metered.labels, sizeof metered.labels - 1);
    os_read_text("/proc/self/cmdline", command, sizeof command);
    size_t length = strlen(command), name = strcspn(hs_design, " ");
    while (length > 0 && command[length - 1] == ' ') /* servers write their state there */
        length--;
    text_string(&labels, "pid=\"");
    text_number(&labels, (uint64_t)getpid());
    text_string(&labels, "\",program=\"");
    escaped(&labels, command, length);
    text_string(&labels, "\",design=\"");
    escaped(&labels, hs_design, name);
    text_string(&labels, "\",hash=\"");
    escaped(&labels, hs_design + name + (hs_design[name] == ' '), SYSTEM_TEXT);
    text_string(&labels, "\"");
}

/* `label`: one more, and its value; NULL: none. */
static void value(struct text *out, const char *name, const char *label, const char *named, uint64_t number)
{
    text_string(out, "heapsmith_");
    text_string(out, name);
    text_string(out, "{");
    text_string(out, metered.labels);
    if (label != NULL) {
        const char *part[] = { ",", label, "=\"", named, "\"" };
        for (size_t index = 0; index < sizeof part / sizeof *part; index++)
            text_string(out, part[index]);
    }
    text_string(out, "} ");
    text_number(out, number);
    text_string(out, "\n");
}

static void gauge(struct text *out, const char *name, const char *help, uint64_t number)
{
    describe(out, name, "gauge", help);
    value(out, name, NULL, NULL, number);
}

/* A field of a line of /proc/self/stat, whose second may hold anything in its brackets. */
static uint64_t field_of(const char *line, unsigned field)
{
    const char *at = strrchr(line, ')');
    for (unsigned passed = 2; at != NULL && passed < field; passed++)
        at = strchr(at + 1, ' ');
    uint64_t number = 0;
    for (at += at != NULL; at != NULL && *at >= '0' && *at <= '9'; at++)
        number = number * 10 + (uint64_t)(*at - '0');
    return number;
}

/* The list may change as it is read. */
static uint64_t idle_heaps(uint64_t heaps)
{
    uint64_t idle = 0;
    const struct heap *heap = __atomic_load_n(&hs_abandoned, __ATOMIC_RELAXED);
    for (; heap != NULL && idle < heaps; heap = __atomic_load_n(&heap->next, __ATOMIC_RELAXED))
        idle++;
    return idle;
}

static void gauges(struct text *out)
{
    char line[SYSTEM_TEXT];
    os_read_text("/proc/self/stat", line, sizeof line);
    uint64_t heaps = 0;
    for (const struct heap *heap = hs_heap_after(&hs_no_heap); heap != NULL; heap = hs_heap_after(heap))
        heaps++;
    uint64_t pages = __atomic_load_n(&hs_runs.top, __ATOMIC_RELAXED) * sizeof(struct page);
    gauge(out, "resident_bytes", "Resident memory of the process.", field_of(line, RESIDENT_FIELD) * PAGE_BYTES);
    gauge(out, "committed_bytes", "Bytes that the heap has from the system.", heap_counter(COUNTED(committed)));
    gauge(out, "committed_peak_bytes", "The most committed bytes so far.", heap_counter(COUNTED(committed_peak)));
    gauge(out, "metadata_bytes", "Bytes of the heap's own records, beside the committed ones.",
          heaps * HEAP_RECORD_BYTES + metered.slabs * SLAB_RECORD_BYTES + pages);
    gauge(out, "threads", "Threads of the process.", field_of(line, THREADS_FIELD));
    gauge(out, "heaps", "Heaps of threads or processors.", heaps);
    gauge(out, "idle_heaps", "Heaps whose thread has ended.", idle_heaps(heaps));
}

/* The uses add up to the committed bytes, as far as nothing moved while they were read. */
static void uses(struct text *out, const struct tally *tally)
{
    int64_t small = 0, fronts = 0, parked = 0, slabs = 0;
    const uint64_t huge = __atomic_load_n(&hs_huge_committed, __ATOMIC_RELAXED);
    for (unsigned class = 0; class < CLASS_COUNT; class++) {
        int64_t stride = hs_class[class].stride;
        small += (int64_t)at_least_none((int64_t)metered.out[class] - tally[class].parked) * stride;
        fronts += tally[class].fronts * stride;
        parked += tally[class].parked * stride;
        slabs += (int64_t)metered.of_class[class];
    }
    const struct {
        const char *name;
        uint64_t bytes;
    } use[] = {
        { "small", (uint64_t)small },
        { "fronts", (uint64_t)fronts },
        { "elsewhere", at_least_none(parked - fronts) },
        { "free_in_slabs", at_least_none(slabs - small - parked) },
        { "empty_slabs", metered.empty },
        { "runs", metered.used },
        { "run_caches", metered.gone },
        { "free_runs", metered.free },
        { "huge", huge },
    };
    const int64_t committed = (int64_t)heap_counter(COUNTED(committed));
    const int64_t allocated = small + (int64_t)metered.used + (int64_t)huge;
    gauge(out, "allocated_bytes", "Bytes of the uses small, runs and huge: of blocks with the program.", (uint64_t)allocated);
    gauge(out, "retained_bytes", "Committed bytes beyond the allocated ones.", at_least_none(committed - allocated));
    int64_t ahead = committed;
    describe(out, "bytes", "gauge", "What the committed bytes are for.");
    for (size_t index = 0; index < sizeof use / sizeof *use; index++) {
        value(out, "bytes", "use", use[index].name, use[index].bytes);
        ahead -= (int64_t)use[index].bytes;
    }
    value(out, "bytes", "use", "ahead", at_least_none(ahead));
}

static void event(struct text *out, const char *prefix, const char *kind, uint64_t count)
{
    char name[64] = "";
    strncat(name, prefix, sizeof name - 1);
    strncat(name, kind, sizeof name - 1 - strlen(name));
    value(out, "events_total", "kind", name, count);
}

static bool is_of_bytes(size_t counter)
{
    return counter == COUNTED(committed) || counter == COUNTED(committed_peak) || counter == COUNTED(released_bytes);
}

/* Where a design counts them, system calls and locks too. */
static void events(struct text *out)
{
    uint64_t sum[CLASS_COUNTERS] = { 0 }, of_class[CLASS_COUNTERS];
    const char *const *name = NULL;
    const uint64_t *count = NULL;
    describe(out, "events_total", "counter", "Events of the heap by kind (docs/machine.md).");
    for (size_t index = 0; index < HEAP_COUNTERS; index++)
        if (!is_of_bytes(index))
            event(out, "", hs_heap_counter[index], heap_counter(index));
    const size_t calls = counted_calls(&name, &count);
    for (size_t index = 0; index < calls; index++)
        event(out, "", name[index], tally_look(&count[index]));
    for (unsigned class = 0; class < CLASS_COUNT; class++) {
        class_counters(class, of_class);
        for (size_t index = 0; index < CLASS_COUNTERS; index++)
            sum[index] += of_class[index];
    }
    for (size_t index = 0; index < CLASS_COUNTERS; index++)
        if (class_counted(index))
            event(out, "", hs_class_counter[index], sum[index]);
    const size_t locks = counted_locks(&name, &count);
    for (size_t index = 0; index < locks; index++)
        event(out, "locks.", name[index], tally_look(&count[index]));
    event(out, "", "released_bytes", heap_counter(COUNTED(released_bytes)));
}

enum class_figure { LIVE_BLOCKS, FRONT_BLOCKS, CLASS_SLAB_BYTES, CLASS_FIGURES };

static void by_class(struct text *out, const struct tally *tally)
{
    static const char *const name[] = { "class_live_blocks", "class_front_blocks", "class_slab_bytes" };
    static const char *const help[] = { "Blocks with the program of a size class.", "Blocks in fronts of a size class.",
                                        "Bytes of slabs of a size class." };
    for (unsigned figure = 0; figure < CLASS_FIGURES; figure++) {
        describe(out, name[figure], "gauge", help[figure]);
        for (unsigned class = 0; class < CLASS_COUNT; class++) {
            char digits[24];
            struct text size = text_to(-1, digits, sizeof digits);
            text_number(&size, hs_class[class].stride);
            digits[size.used] = '\0';
            const uint64_t of[] = { at_least_none((int64_t)metered.out[class] - tally[class].parked),
                                    (uint64_t)tally[class].fronts, metered.of_class[class] };
            value(out, name[figure], "size", digits, of[figure]);
        }
    }
}

void metrics_text(struct text *out, bool classes)
{
    COLD_DATA static struct tally tally[CLASS_COUNT];
    memset(&metered, 0, sizeof metered);
    label_process();
    look_at_slabs();
    look_at_runs();
    for (unsigned class = 0; class < CLASS_COUNT; class++)
        tally[class] = tally_class(class);
    gauges(out);
    uses(out, tally);
    events(out);
    if (classes)
        by_class(out, tally);
}
