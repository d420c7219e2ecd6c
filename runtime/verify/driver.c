/* The conformance driver: performs events on a library in their total order, on real threads, and answers with addresses.
 *
 * usage: driver LIBRARY GRAIN COUNTERS LOCKS CHECK_EVERY STALL_S
 *
 * Standard input: batches, each a head record and the events. Standard output, little-endian 64-bit words: for each
 * batch, once all of it was read and performed, an address code per event, the COUNTERS counters, LOCKS counts of locks (0 of
 * a library that does not count them), four sums of bytes and refused_bytes. So
 * neither side can wait for the other while that one waits for it. Between batches a reset record (checked build) ends all
 * threads and makes the heap as new, with so much of each span as the record says. At the end of the input what no trace
 * shows is tried. Status 0: all well; 1: standard error says "event N: what is wrong", also where nothing moves for STALL_S; 2: a fault of usage; 3: the system
 * lacks memory for the driver itself.
 *
 * Each thread of the trace is a thread of this process, from its first event to its exit. One at a time runs: whoever
 * has the turn performs the events up to the next thread's and hands the turn on. An exiting thread hands it to the
 * coordinator, which joins it first: the library's work at thread exit is then done. */
#define _GNU_SOURCE
#include "../replay/watchdog.h"
#include "driver.h"

#include <dlfcn.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

/* A live thread of the trace. */
struct worker {
    pthread_t thread;
    sem_t turn;
    uint32_t number;
    bool running;
};

enum { STACK_BYTES = 1 << 18 };
static const uint64_t guard = 0x5afe5afe5afe5afe; /* stands behind the counters */

struct library library;
size_t grain;
bool no_strangers;

static struct {
    struct event *event;
    int64_t *address;
    size_t count, room, next;
} batch; /* whoever has the turn reads and writes it */

static int64_t performed; /* events before this batch */
static void (*background)(uint64_t events); /* does the steps of the library's helper; NULL: it has none */
static void (*tell_processor)(int32_t processor); /* to the library; NULL: it does not ask */
static bool threads_own_heaps = true;
static void (*tell_time)(uint64_t milliseconds); /* to the library; NULL: it has no clock */
static uint64_t happened; /* events since the heap was new */
static size_t (*tell_locks)(uint64_t *counts); /* of the library; NULL: it does not count them */
static int64_t check_every; /* events; 0: never */
static unsigned stall_s;
static const char *phase; /* what is done when no event is */
_Atomic uint64_t steps;
static struct worker **worker; /* by the trace's thread number */
static size_t workers;
static struct worker *ending; /* performed its exit and gave the turn to the coordinator */
static sem_t coordinator;

static long long event_number(void)
{
    return (long long)performed + (long long)batch.next;
}

void fail(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    fprintf(stderr, "event %lld: ", event_number());
    vfprintf(stderr, format, arguments);
    fputc('\n', stderr);
    _exit(1);
}

void lack(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    vfprintf(stderr, format, arguments);
    fputc('\n', stderr);
    _exit(3);
}

static const struct {
    int number;
    const char *name;
} fatal[] = {{SIGSEGV, "SEGV"}, {SIGBUS, "BUS"}, {SIGILL, "ILL"}, {SIGFPE, "FPE"}, {SIGABRT, "ABRT"}};
enum { FATAL = sizeof fatal / sizeof *fatal };

/* snprintf is no async-signal-safe function, but the signal is the process's end anyway and its buffer is on the stack. */
static void end_by_signal(int signal)
{
    const char *name = "";
    for (size_t index = 0; index < FATAL; index++)
        name = fatal[index].number == signal ? fatal[index].name : name; /* musl has no sigabbrev_np */
    char line[80];
    int length = snprintf(line, sizeof line, "event %lld: %s\n", event_number(), name);
    if (write(STDERR_FILENO, line, (size_t)length) < 0)
        _exit(2);
    _exit(1);
}

static uint64_t progress(void)
{
    return (uint64_t)event_number() + atomic_load_explicit(&steps, memory_order_relaxed);
}

/* All threads wait for the one that has the turn, and the coordinator for them (docs/lab/concurrency.md). */
static void end_stuck(void)
{
    char line[200];
    int length = snprintf(line, sizeof line, "event %lld: no progress for %u s: ", event_number(), stall_s);
    if (phase != NULL)
        length += snprintf(line + length, sizeof line - (size_t)length, "%s\n", phase);
    else
        length += snprintf(line + length, sizeof line - (size_t)length, "thread %u does not come back from it\n",
                           batch.next < batch.count ? batch.event[batch.next].thread : 0);
    _exit(write(STDERR_FILENO, line, (size_t)length) == length ? 1 : 2);
}

void begin_phase(const char *what)
{
    phase = what;
    watchdog_start(1000ull * stall_s, progress, end_stuck);
}

void *widened(void *table, size_t *room, size_t most, size_t item_bytes)
{
    if (most < *room)
        return table;
    size_t wider = 2 * most + 16;
    char *moved = realloc(table, wider * item_bytes);
    if (moved == NULL)
        lack("no memory for %zu items", wider);
    memset(moved + *room * item_bytes, 0, (wider - *room) * item_bytes);
    *room = wider;
    return moved;
}

static void usage(const char *what)
{
    fprintf(stderr, "%s\n", what);
    exit(2);
}

static void pass_turn(void)
{
    uint32_t next = batch.next < batch.count ? batch.event[batch.next].thread : UINT32_MAX;
    bool runs = next < workers && worker[next] != NULL && worker[next]->running;
    sem_post(runs ? &worker[next]->turn : &coordinator);
}

/* After an event, and after the end of the thread that exits in it. */
static void let_helper_work(void)
{
    happened++;
    if (background != NULL)
        background(happened);
}

static void perform_next(void)
{
    if (tell_time != NULL)
        tell_time((uint64_t)batch.event[batch.next].time_ms);
    if (tell_processor != NULL)
        tell_processor((int32_t)batch.event[batch.next].processor);
    batch.address[batch.next] = perform(&batch.event[batch.next]);
    if (check_every > 0 && event_number() % check_every == 0)
        library.check();
    if (batch.event[batch.next].op != THREAD_EXIT)
        let_helper_work();
    batch.next++;
}

/* This thread's events up to the next thread's; false after its exit, or if there is no batch: all threads end. */
static bool take_turn(struct worker *self)
{
    if (batch.count == 0)
        return false;
    while (batch.next < batch.count && batch.event[batch.next].thread == self->number) {
        bool exits = batch.event[batch.next].op == THREAD_EXIT;
        perform_next();
        if (exits) {
            ending = self;
            sem_post(&coordinator);
            return false;
        }
    }
    pass_turn();
    return true;
}

static void *work(void *with)
{
    struct worker *self = with;
    do
        sem_wait(&self->turn);
    while (take_turn(self));
    return NULL;
}

static struct worker *worker_of(uint32_t number)
{
    worker = widened(worker, &workers, number, sizeof *worker);
    if (worker[number] == NULL) {
        worker[number] = calloc(1, sizeof *worker[number]);
        if (worker[number] == NULL)
            lack("no memory for thread %u", number);
        worker[number]->number = number;
        sem_init(&worker[number]->turn, 0, 0);
    }
    return worker[number];
}

static void start(struct worker *starting)
{
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, STACK_BYTES);
    int error = pthread_create(&starting->thread, &attributes, work, starting);
    pthread_attr_destroy(&attributes);
    if (error != 0)
        lack("thread %u cannot be started: %s", starting->number, strerror(error));
    starting->running = true;
}

static void perform_batch(void)
{
    batch.next = 0;
    while (batch.next < batch.count) {
        struct worker *next = worker_of(batch.event[batch.next].thread);
        if (!next->running)
            start(next);
        sem_post(&next->turn);
        sem_wait(&coordinator);
        if (ending != NULL) {
            pthread_join(ending->thread, NULL);
            ending->running = false;
            ending = NULL;
            let_helper_work();
        }
    }
    performed += (int64_t)batch.count;
    batch.next = 0;
}

/* The heap as new, for another trace, with so much of each span. */
static void reset(size_t span_bytes)
{
    batch.count = batch.next = 0;
    for (size_t number = 0; number < workers; number++)
        if (worker[number] != NULL && worker[number]->running) {
            sem_post(&worker[number]->turn);
            pthread_join(worker[number]->thread, NULL);
            worker[number]->running = false;
        }
    library.free(library.malloc(1)); /* so that this thread has a heap to lose */
    library.reset(span_bytes);
    happened = 0;
    forget_blocks();
}

/* False at the end of the input. */
static bool read_batch(void)
{
    struct event head;
    while (fread(&head, sizeof head, 1, stdin) == 1 && head.op == RESET) {
        begin_phase("threads end, and the heap becomes as new");
        reset((size_t)head.bytes);
        watchdog_stop();
    }
    if (feof(stdin))
        return false;
    if (head.op != BATCH || head.bytes < 0)
        usage("a batch has no head");
    batch.count = (size_t)head.bytes;
    size_t room = batch.room;
    batch.event = widened(batch.event, &room, batch.count, sizeof *batch.event);
    batch.address = widened(batch.address, &batch.room, batch.count, sizeof *batch.address);
    if (fread(batch.event, sizeof *batch.event, batch.count, stdin) != batch.count)
        usage("a batch is cut off");
    return true;
}

/* What the library says of itself is asked for under watch; whoever reads the answer may take as long as it likes. */
static void answer(uint64_t *counters, size_t count, uint64_t *locks, size_t paths)
{
    begin_phase("the library tells its counters");
    library.counters(counters);
    if (tell_locks != NULL)
        tell_locks(locks);
    struct figures said = library.mallinfo2();
    watchdog_stop();
    if (counters[count] != guard)
        fail("heapsmith_counters writes more counters than there are");
    fwrite(batch.address, sizeof *batch.address, batch.count, stdout);
    fwrite(counters, sizeof *counters, count, stdout);
    fwrite(locks, sizeof *locks, paths, stdout);
    uint64_t bytes[] = { said.uordblks + said.hblkhd, said.fsmblks, said.arena + said.hblkhd, said.keepcost };
    fwrite(bytes, sizeof bytes, 1, stdout);
    fwrite(&refused_bytes, sizeof refused_bytes, 1, stdout);
    if (fflush(stdout) != 0)
        usage("nobody reads the answer");
}

static void load(const char *path)
{
    void *handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (handle == NULL)
        usage(dlerror());
    static const char *const name[] = {
        "malloc", "calloc", "realloc", "reallocarray", "aligned_alloc", "memalign", "posix_memalign", "valloc", "pvalloc", "free",
        "cfree", "free_sized", "free_aligned_sized", "malloc_usable_size", "mallinfo2", "heapsmith_counter_count",
        "heapsmith_counters", "heapsmith_locate", "heapsmith_check", "heapsmith_reset",
    };
    _Static_assert(sizeof name / sizeof name[0] * sizeof(void *) == sizeof library, "a name per function of struct library");
    for (size_t index = 0; index < sizeof name / sizeof name[0]; index++) {
        void *function = dlsym(handle, name[index]);
        if (function == NULL)
            usage(dlerror());
        memcpy((char *)&library + index * sizeof function, &function, sizeof function);
    }
    no_strangers = dlsym(handle, "heapsmith_no_strangers") != NULL;
    void *helper = dlsym(handle, "heapsmith_background");
    memcpy(&background, &helper, sizeof helper);
    if (background != NULL)
        background(0); /* from here on no thread does them */
    void *site = dlsym(handle, "heapsmith_site");
    memcpy(&tell_site, &site, sizeof site);
    void *clock = dlsym(handle, "heapsmith_clock");
    memcpy(&tell_time, &clock, sizeof clock);
    if (tell_time != NULL)
        tell_time(0); /* from here on it does not ask the system */
    void *locks = dlsym(handle, "heapsmith_locks");
    memcpy(&tell_locks, &locks, sizeof locks);
    void *processor = dlsym(handle, "heapsmith_processor");
    threads_own_heaps = processor == NULL;
    if (processor == NULL)
        processor = dlsym(handle, "heapsmith_runs_on"); /* that heaps of threads go by */
    memcpy(&tell_processor, &processor, sizeof processor);
    if (tell_processor != NULL)
        tell_processor(0); /* from here on the kernel does not say it */
}

/* A library that the driver is linked with has handlers of its own by now, which it needs. */
static void watch_signals(void)
{
    struct sigaction before;
    for (size_t index = 0; index < FATAL; index++)
        if (sigaction(fatal[index].number, NULL, &before) == 0 && before.sa_handler == SIG_DFL)
            signal(fatal[index].number, end_by_signal);
    setrlimit(RLIMIT_CORE, &(struct rlimit){ 0, 0 });
}

int main(int count, char **argument)
{
    if (count != 7)
        usage("usage: driver LIBRARY GRAIN COUNTERS LOCKS CHECK_EVERY STALL_S");
    grain = strtoul(argument[2], NULL, 10);
    size_t counters = strtoul(argument[3], NULL, 10);
    size_t paths = strtoul(argument[4], NULL, 10);
    check_every = strtol(argument[5], NULL, 10);
    stall_s = (unsigned)strtoul(argument[6], NULL, 10);
    watch_signals();
    load(argument[1]);
    sem_init(&coordinator, 0, 0);
    uint64_t *counter = calloc(counters + 1, sizeof *counter);
    if (counter == NULL || library.counter_count() != counters)
        usage("the library has another number of counters");
    uint64_t *lock = calloc(paths + 1, sizeof *lock);
    if (lock == NULL || (tell_locks != NULL && tell_locks(NULL) != paths))
        usage("the library counts other locks");
    counter[counters] = guard;
    while (read_batch()) {
        begin_phase(NULL);
        perform_batch();
        answer(counter, counters, lock, paths);
    }
    begin_phase("the facts that no trace shows");
    facts();
    if (tell_processor != NULL)
        tell_processor(-1);
    together(threads_own_heaps);
    _exit(0);
}
