/* soak SECONDS THREADS LIVE_MIB DUTY SAMPLE_MS: a load of repeating phases. Does memory in use
 * follow the live bytes, or grow?
 *
 * A cycle has five phases: steady, growth, shrink, shift (another mix of sizes), churn (threads
 * end and start all the time). Workers live as long as the program. Between phases all wait, so
 * that main sees a heap at rest. A phase is a fixed number of operations, so all phases of a
 * kind ask the same of memory. Blocks are written in full. Tables are mapped and touched before
 * the first block: they are part of `base`. Workers work DUTY percent of the time.
 *
 * Output: "base RSS", then a line per sample: milliseconds, cycle, phase, live bytes, live
 * blocks, RSS, and 1 if all workers were at rest (the end of a phase). */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

enum {
    SHARED_PLACES = 256,
    BYTES_PER_PLACE = 1024, /* of a worker's most live bytes; blocks average 2 KiB or more */
    TURNS = 4,              /* operations of a phase per place */
    SLICE = 256,            /* operations between sleeps */
    CHURN_THREADS = 16,     /* per worker and phase */
    PIN = 64,               /* a place in PIN keeps its block about PIN times as long */
    TRIES = 4,
};

enum mix { MOSTLY_SMALL, MOSTLY_MIDDLE };

/* Live bytes go from `from` to `to` sixteenths of the most. */
static const struct phase {
    const char *name;
    unsigned from, to;
    enum mix mix;
    bool churn;
} phases[] = {
    { "steady", 8, 8, MOSTLY_SMALL, false },   { "growth", 8, 16, MOSTLY_SMALL, false },
    { "shrink", 16, 4, MOSTLY_SMALL, false },  { "shift", 4, 8, MOSTLY_MIDDLE, false },
    { "churn", 8, 8, MOSTLY_MIDDLE, true },
};
enum { PHASES = sizeof phases / sizeof phases[0] };

struct piece {
    unsigned char *start; /* NULL: none */
    size_t bytes;         /* its first and last byte are the low byte of this */
};

struct shared {
    atomic_flag busy;
    struct piece piece;
};

struct worker {
    uint64_t random;
    const struct phase *phase;
    size_t places;
    struct piece *place;
    _Atomic(size_t) live_bytes, live_blocks; /* written by the worker alone */
    uint64_t begin, end;                     /* operations of a churning thread */
    sem_t go;
};

static uint64_t seconds, threads, live_mib, duty, sample_ms; /* the arguments */

static struct worker *workers;
static struct shared shared[SHARED_PLACES];
static _Atomic(size_t) shared_bytes, shared_blocks;
static sem_t done;
static uint64_t start_ns;

static void stop(const char *why)
{
    fprintf(stderr, "soak: %s\n", why);
    _exit(1);
}

/* splitmix64: Steele, Lea, Flood, "Fast splittable pseudorandom number generators", OOPSLA 2014. */
static uint64_t draw(struct worker *worker)
{
    uint64_t mixed = worker->random += UINT64_C(0x9E3779B97F4A7C15);
    mixed = (mixed ^ mixed >> 30) * UINT64_C(0xBF58476D1CE4E5B9);
    mixed = (mixed ^ mixed >> 27) * UINT64_C(0x94D049BB133111EB);
    return mixed ^ mixed >> 31;
}

static size_t draw_bytes(struct worker *worker)
{
    uint64_t random = draw(worker);
    unsigned percent = random % 100;
    random >>= 8;
    if (worker->phase->mix == MOSTLY_SMALL)
        return percent < 90 ? 16 + random % 496 : percent < 99 ? 512 + random % 7680 : 8192 + random % 253952;
    return percent < 60 ? 24 + random % 104 : percent < 95 ? 1024 + random % 15360 : 16384 + random % 98304;
}

static void add(_Atomic(size_t) *sum, size_t more)
{
    atomic_fetch_add_explicit(sum, more, memory_order_relaxed);
}

static void count(struct worker *worker, const struct piece *piece, bool born)
{
    if (piece->start == NULL)
        return;
    add(&worker->live_bytes, born ? piece->bytes : -piece->bytes);
    add(&worker->live_blocks, born ? 1 : -(size_t)1);
}

static void check(const struct piece *piece)
{
    unsigned char mark = (unsigned char)piece->bytes;
    if (piece->start[0] != mark || piece->start[piece->bytes - 1] != mark)
        stop("the contents of a block changed");
}

static void fill(struct worker *worker, struct piece *piece, void *start, size_t bytes)
{
    if (start == NULL)
        stop("out of memory");
    *piece = (struct piece){ start, bytes };
    memset(start, (int)(unsigned char)bytes, bytes);
    count(worker, piece, true);
}

static void bear(struct worker *worker, struct piece *piece)
{
    size_t bytes = draw_bytes(worker);
    fill(worker, piece, bytes % 8 == 0 ? calloc(1, bytes) : malloc(bytes), bytes);
}

static void resize(struct worker *worker, struct piece *piece)
{
    size_t bytes = draw_bytes(worker);
    check(piece);
    count(worker, piece, false);
    fill(worker, piece, realloc(piece->start, bytes), bytes);
}

static void die(struct worker *worker, struct piece *piece)
{
    check(piece);
    count(worker, piece, false);
    free(piece->start);
    piece->start = NULL;
}

static void swap(struct worker *worker, struct piece *piece)
{
    struct shared *other = &shared[draw(worker) % SHARED_PLACES];
    while (atomic_flag_test_and_set_explicit(&other->busy, memory_order_acquire))
        sched_yield();
    struct piece taken = other->piece;
    other->piece = *piece;
    atomic_flag_clear_explicit(&other->busy, memory_order_release);
    count(worker, piece, false);
    add(&shared_bytes, piece->bytes - (taken.start == NULL ? 0 : taken.bytes));
    add(&shared_blocks, taken.start == NULL ? 1 : 0);
    *piece = taken;
    count(worker, piece, true);
}

/* Replace the block of a place; then allocate up to the target. */
static void perform(struct worker *worker, size_t target)
{
    uint64_t random = draw(worker);
    size_t index = random % worker->places;
    struct piece *piece = &worker->place[index];
    bool pinned = index % PIN == 0 && (random >> 32) % PIN != 0;
    if (piece->start != NULL && !pinned) {
        unsigned kind = (random >> 40) % 16;
        if (kind == 0)
            resize(worker, piece);
        else if (kind < 3)
            swap(worker, piece);
        else
            die(worker, piece);
    }
    for (int tries = 0; tries < TRIES && worker->live_bytes < target; tries++) {
        piece = &worker->place[draw(worker) % worker->places];
        if (piece->start == NULL)
            bear(worker, piece);
    }
}

static uint64_t clock_ns(clockid_t clock)
{
    struct timespec now;
    clock_gettime(clock, &now);
    return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

static struct timespec timespec_of(uint64_t ns)
{
    return (struct timespec){ (time_t)(ns / 1000000000), (long)(ns % 1000000000) };
}

/* Sleep until the work since `began` is the duty's percentage of the time. */
static void rest(uint64_t began_ns)
{
    if (duty >= 100)
        return;
    uint64_t worked_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID) - began_ns;
    struct timespec pause = timespec_of(worked_ns * (100 - duty) / duty);
    nanosleep(&pause, NULL);
}

static size_t most_live(void)
{
    return (live_mib << 20) / threads;
}

static void perform_part(struct worker *worker, uint64_t begin, uint64_t end)
{
    uint64_t operations = TURNS * worker->places;
    size_t from = most_live() / 16 * worker->phase->from, to = most_live() / 16 * worker->phase->to;
    uint64_t began_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID);
    for (uint64_t operation = begin; operation < end; operation++) {
        double share = (double)operation / (double)operations;
        perform(worker, (size_t)((double)from + ((double)to - (double)from) * share));
        if (operation % SLICE == SLICE - 1) {
            rest(began_ns);
            began_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID);
        }
    }
}

static void *churning(void *with)
{
    struct worker *worker = with;
    perform_part(worker, worker->begin, worker->end);
    return NULL;
}

/* Run the phase in parts, each in a new thread. */
static void churn(struct worker *worker)
{
    uint64_t operations = TURNS * worker->places;
    for (uint64_t part = 0; part < CHURN_THREADS; part++) {
        pthread_t thread;
        worker->begin = operations * part / CHURN_THREADS;
        worker->end = operations * (part + 1) / CHURN_THREADS;
        if (pthread_create(&thread, NULL, churning, worker) != 0)
            stop("a thread cannot be started");
        pthread_join(thread, NULL);
    }
}

__attribute__((noreturn)) static void *work(void *with)
{
    struct worker *worker = with;
    for (;;) {
        while (sem_wait(&worker->go) != 0)
            ;
        if (worker->phase->churn)
            churn(worker);
        else
            perform_part(worker, 0, TURNS * worker->places);
        sem_post(&done);
    }
}

static size_t resident_bytes(void)
{
    char text[128];
    size_t pages = 0;
    int file = open("/proc/self/statm", O_RDONLY | O_CLOEXEC);
    ssize_t got = file < 0 ? -1 : read(file, text, sizeof text - 1);
    if (file >= 0)
        close(file);
    text[got > 0 ? got : 0] = 0;
    if (got <= 0 || sscanf(text, "%*u %zu", &pages) != 1)
        stop("/proc/self/statm cannot be read");
    return pages * (size_t)sysconf(_SC_PAGESIZE);
}

static uint64_t elapsed_ms(void)
{
    return (clock_ns(CLOCK_MONOTONIC) - start_ns) / 1000000;
}

static void sample(uint64_t cycle, const struct phase *phase, bool at_rest)
{
    size_t bytes = shared_bytes, blocks = shared_blocks;
    for (uint64_t number = 0; number < threads; number++) {
        bytes += workers[number].live_bytes;
        blocks += workers[number].live_blocks;
    }
    printf("%ju %ju %s %zu %zu %zu %d\n", elapsed_ms(), cycle, phase->name, bytes, blocks, resident_bytes(), at_rest);
}

/* Run one phase on all workers, with samples during it and at its end. */
static void perform_phase(uint64_t cycle, const struct phase *phase)
{
    for (uint64_t number = 0; number < threads; number++) {
        workers[number].phase = phase;
        sem_post(&workers[number].go);
    }
    static uint64_t next_ns;
    if (next_ns == 0)
        next_ns = clock_ns(CLOCK_REALTIME);
    for (uint64_t at_rest = 0; at_rest < threads;) {
        struct timespec next = timespec_of(next_ns);
        if (sem_timedwait(&done, &next) == 0) {
            at_rest++;
        } else if (errno == ETIMEDOUT) {
            sample(cycle, phase, false);
            next_ns += sample_ms * 1000000;
        }
    }
    sample(cycle, phase, true);
}

static void *touched(size_t bytes)
{
    void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
    if (memory == MAP_FAILED)
        stop("no memory for the program's own tables");
    return memory;
}

static void start_workers(void)
{
    workers = touched(threads * sizeof *workers);
    sem_init(&done, 0, 0);
    for (uint64_t number = 0; number < threads; number++) {
        struct worker *worker = &workers[number];
        worker->random = UINT64_C(0xD1342543DE82EF95) + number;
        worker->places = most_live() / BYTES_PER_PLACE;
        worker->place = touched(worker->places * sizeof *worker->place);
        sem_init(&worker->go, 0, 0);
    }
    printf("base %zu\n", resident_bytes());
    for (uint64_t number = 0; number < threads; number++) {
        pthread_t thread;
        if (pthread_create(&thread, NULL, work, &workers[number]) != 0)
            stop("a thread cannot be started");
    }
}

static void read_options(int given, char **arguments)
{
    uint64_t *const option[] = { &seconds, &threads, &live_mib, &duty, &sample_ms };
    for (int index = 0; given == 6 && index < 5; index++)
        *option[index] = strtoull(arguments[1 + index], NULL, 10);
    if (threads < 1 || live_mib < threads || duty < 1 || sample_ms < 1)
        stop("usage: soak SECONDS THREADS LIVE_MIB DUTY SAMPLE_MS");
}

int main(int given, char **arguments)
{
    static char buffer[1 << 16];
    read_options(given, arguments);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    setvbuf(stdout, buffer, _IOLBF, sizeof buffer);
    start_ns = clock_ns(CLOCK_MONOTONIC);
    start_workers();
    for (uint64_t number = 0; elapsed_ms() < seconds * 1000; number++)
        perform_phase(number / PHASES, &phases[number % PHASES]);
    fflush(stdout);
    _exit(0);
}
