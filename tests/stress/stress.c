/* Threads that use the whole malloc family at once: usage below. Checks are those of piece.h.
 *
 * A lane is a fixed sequence of operations, drawn from the seed and the lane's number alone. Threads perform it one
 * after the other: each performs a part, starts the next, and ends while its blocks live on. Blocks go from lane to
 * lane through shared places. So what is asked for is the same in every run of one seed; which block lies in a shared
 * place depends on the scheduler. With one lane nothing does: a run can be repeated to the address. */
#define _GNU_SOURCE
#include "piece.h"
#include "tested.h"

#include <getopt.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum {
    PLACES = 320,
    SHARED_PLACES = 512,
    WAVE = 1024, /* operations: a lane mostly bears, then mostly lets die; its favourite size changes with each */
    LIVES = 4,   /* about this number of threads per lane and round, one after the other */
    MOST_THREADS = 64,
    RARELY = 1 << 11, /* operations between two that look at the whole heap */
};

/* A block that any lane may take; `busy` is held while it is exchanged. */
struct shared {
    atomic_flag busy;
    struct piece piece;
};

/* Handed from thread to thread: by pthread_create, and to main by `done`. */
struct lane {
    unsigned number;
    uint64_t random;
    uint64_t operation; /* number of the next */
    uint64_t until;     /* this round ends there */
    uint64_t life;      /* threads it has had */
    size_t favourite;   /* bytes */
    pthread_t predecessor;
    bool has_predecessor;
    sem_t done;           /* the round's last thread starts no other */
    struct piece late[2]; /* by parity of life: dies in a thread's key destructor */
    struct piece place[PLACES];
    uint64_t births, deaths, resizes, moves;
    uint64_t orphans; /* deaths of blocks whose thread had ended, or that another lane bore */
    uint64_t asked;   /* hash of all operations as drawn */
    uint64_t given;   /* hash of all addresses, as heapsmith_locate names them */
};

static struct {
    uint64_t seed, threads, operations, rounds, largest_bits, statistics;
} options = { .seed = 1, .threads = 4, .operations = 20000, .rounds = 2, .largest_bits = 22 };

static struct lane *lanes;
static struct shared *shared;
static pthread_key_t late_key;

/* splitmix64: Steele, Lea, Flood, "Fast splittable pseudorandom number generators", OOPSLA 2014. */
static uint64_t draw(struct lane *lane)
{
    uint64_t mixed = lane->random += UINT64_C(0x9E3779B97F4A7C15);
    mixed = (mixed ^ mixed >> 30) * UINT64_C(0xBF58476D1CE4E5B9);
    mixed = (mixed ^ mixed >> 27) * UINT64_C(0x94D049BB133111EB);
    return mixed ^ mixed >> 31;
}

static uint64_t hashed(uint64_t hash, uint64_t value)
{
    return (hash ^ value) * UINT64_C(0x100000001B3); /* FNV-1a, by words */
}

/* Small sizes mostly, each power of two up to the largest sometimes; many of one favourite, some at powers' edges. */
static size_t size_of(uint64_t random, size_t favourite)
{
    unsigned shape = random & 63;
    random >>= 6;
    if (shape < 20)
        return favourite;
    if (shape < 24)
        return ((size_t)1 << random % 17) + (random >> 8) % 3 - 1;
    unsigned least = shape < 56 ? 1 : shape < 61 ? 11 : shape < 63 ? 15 : 19;
    unsigned bits = least + random % (least == 1 ? 10 : 4);
    if (bits > options.largest_bits)
        bits = (unsigned)options.largest_bits;
    return (random >> 8) & (((size_t)1 << bits) - 1);
}

static void count_place(struct lane *lane, const struct piece *piece)
{
    if (options.threads == 1 && tested.locate != NULL)
        lane->given = hashed(lane->given, (uint64_t)tested.locate(piece->start));
}

/* Which lane's how manieth thread this is. */
static uint64_t life_of(const struct lane *lane)
{
    return (uint64_t)lane->number << 32 | lane->life;
}

static void let_die(struct lane *lane, struct piece *piece, uint64_t random)
{
    if (piece->start == NULL)
        return;
    lane->orphans += piece->life != life_of(lane);
    lane->deaths++;
    die(piece, random);
}

static void give_birth(struct lane *lane, struct piece *piece, uint64_t choice, size_t bytes, uint64_t seed)
{
    static const enum source by[16] = { [0 ... 6] = BY_MALLOC, [7 ... 9] = BY_CALLOC, BY_REALLOC, BY_REALLOCARRAY,
                                        BY_ALIGNED_ALLOC, BY_ALIGNED_ALLOC, BY_POSIX_MEMALIGN, BY_STRDUP };
    size_t alignment = (size_t)8 << (choice >> 4) % ((choice >> 8) % 8 == 0 ? 14 : 7);
    let_die(lane, piece, choice >> 16);
    *piece = bear(by[choice % 16], bytes, alignment, seed);
    piece->life = life_of(lane);
    lane->births++;
    count_place(lane, piece);
}

static void change_size(struct lane *lane, struct piece *piece, size_t bytes, uint64_t seed)
{
    if (piece->start == NULL)
        return;
    lane->moves += (uint64_t)resize(piece, bytes == 0 ? 1 : bytes, seed);
    lane->resizes++;
    count_place(lane, piece);
}

static void swap_with(struct shared *other, struct piece *piece)
{
    while (atomic_flag_test_and_set_explicit(&other->busy, memory_order_acquire))
        sched_yield();
    struct piece taken = other->piece;
    other->piece = *piece;
    *piece = taken;
    atomic_flag_clear_explicit(&other->busy, memory_order_release);
}

/* Always the same number of draws, so that the sequence does not depend on what lies where. */
static void perform(struct lane *lane)
{
    uint64_t choice = draw(lane), random = draw(lane), place = draw(lane), seed = draw(lane);
    bool growing = lane->operation / WAVE % 2 == 0;
    if (lane->operation % WAVE == 0)
        lane->favourite = 1 + (seed >> 32) % ((seed & 3) == 0 ? 5000 : 400);
    size_t bytes = size_of(random, lane->favourite);
    lane->asked = hashed(hashed(lane->asked, choice), bytes ^ place << 32);
    where.operation = lane->operation++;
    struct piece *piece = &lane->place[place % PLACES];
    unsigned kind = choice & 127;
    choice >>= 7;
    if (kind < (growing ? 60 : 20))
        give_birth(lane, piece, choice, bytes, seed);
    else if (kind < 80)
        let_die(lane, piece, choice);
    else if (kind < 96)
        change_size(lane, piece, bytes, seed);
    else
        swap_with(&shared[(place >> 32) % SHARED_PLACES], piece);
    if (choice % RARELY == 0 && tested.malloc_trim != NULL)
        tested.malloc_trim(random % 2 * 65536);
    if (choice % RARELY == 1 && options.statistics && tested.mallinfo2 != NULL)
        tested.mallinfo2();
}

/* A thread's key destructor; also a place where programs allocate and free. The library's own may have run before. */
static void end_late(void *with)
{
    struct piece *piece = with;
    die(piece, 1);
    struct piece another = bear(BY_MALLOC, 200, 0, 1);
    die(&another, 1);
}

static void join_predecessor(struct lane *lane)
{
    if (lane->has_predecessor)
        pthread_join(lane->predecessor, NULL);
    lane->has_predecessor = false;
}

static void start_thread(struct lane *lane);

static void *live(void *with)
{
    struct lane *lane = with;
    where = (struct where){ options.seed, lane->number, lane->operation };
    if (options.threads == 1)
        join_predecessor(lane); /* what the end of a thread allocates and frees would be at any time */
    lane->life++;
    struct piece *late = &lane->late[lane->life % 2];
    *late = bear(BY_MALLOC, 100, 0, lane->life);
    pthread_setspecific(late_key, late);
    uint64_t end = lane->operation + 1 + draw(lane) % (2 * options.operations / options.rounds / LIVES + 1);
    while (lane->operation < lane->until && lane->operation < end)
        perform(lane);
    join_predecessor(lane);
    lane->predecessor = pthread_self();
    lane->has_predecessor = true;
    if (lane->operation < lane->until)
        start_thread(lane);
    else
        sem_post(&lane->done);
    return NULL;
}

static void start_thread(struct lane *lane)
{
    pthread_t thread;
    int error = pthread_create(&thread, NULL, live, lane);
    if (error != 0)
        fail("a thread cannot be started: %s", strerror(error));
}

/* All lanes for their next operations; afterwards no thread is left, and the heap can be walked. */
static void perform_round(uint64_t round)
{
    for (uint64_t number = 0; number < options.threads; number++) {
        lanes[number].until = options.operations * (round + 1) / options.rounds;
        start_thread(&lanes[number]);
    }
    for (uint64_t number = 0; number < options.threads; number++) {
        while (sem_wait(&lanes[number].done) != 0)
            ;
        join_predecessor(&lanes[number]);
    }
    if (tested.check != NULL)
        tested.check();
}

/* Main, which has borne none of them, frees all that is left. */
static void clear(void)
{
    for (uint64_t number = 0; number < options.threads; number++) {
        lanes[number].life++;
        for (int place = 0; place < PLACES; place++)
            let_die(&lanes[number], &lanes[number].place[place], (uint64_t)place);
    }
    for (int place = 0; place < SHARED_PLACES; place++)
        let_die(&lanes[0], &shared[place].piece, (uint64_t)place);
    if (tested.check != NULL)
        tested.check();
}

static void *zeroed(size_t bytes)
{
    void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED)
        fail("no memory for the program's own tables");
    return memory;
}

static void prepare(void)
{
    look_up_tested();
    where.seed = options.seed;
    lanes = zeroed(options.threads * sizeof *lanes);
    shared = zeroed(SHARED_PLACES * sizeof *shared);
    for (uint64_t number = 0; number < options.threads; number++) {
        struct lane *lane = &lanes[number];
        lane->number = (unsigned)number;
        lane->random = options.seed * UINT64_C(0xD1342543DE82EF95) + number;
        lane->random = draw(lane);
        sem_init(&lane->done, 0, 0);
    }
    if (pthread_key_create(&late_key, end_late) != 0)
        fail("no thread key is left");
}

/* One line of JSON. `given` is of use with one thread only, where two runs must agree. */
static void report(void)
{
    struct lane sum = { .asked = 0 };
    for (uint64_t number = 0; number < options.threads; number++) {
        const struct lane *lane = &lanes[number];
        sum.births += lane->births;
        sum.deaths += lane->deaths;
        sum.resizes += lane->resizes;
        sum.moves += lane->moves;
        sum.orphans += lane->orphans;
        sum.life += lane->life - 1;
        sum.asked = hashed(sum.asked, lane->asked);
        sum.given = hashed(sum.given, lane->given);
    }
    printf("{\"seed\":%ju,\"threads\":%ju,\"operations\":%ju,\"births\":%ju,\"deaths\":%ju,\"resizes\":%ju,"
           "\"moves\":%ju,\"orphans\":%ju,\"threads_started\":%ju,\"asked\":%ju,\"given\":%ju,\"heap_checked\":%s}\n",
           options.seed, options.threads, options.operations * options.threads, sum.births, sum.deaths, sum.resizes,
           sum.moves, sum.orphans, sum.life, sum.asked, sum.given, tested.check != NULL ? "true" : "false");
}

static const char usage[] = "usage: stress [--seed N] [--threads 1..64] [--operations N-PER-THREAD] [--rounds N]\n"
                            "              [--largest-bits 1..30] [--alignment 8|16] [--statistics 0|1]\n";

static void read_options(int count, char **arguments)
{
    static const struct option known[] = {
        { "seed", 1, NULL, 's' },   { "threads", 1, NULL, 't' },      { "operations", 1, NULL, 'o' },
        { "rounds", 1, NULL, 'r' }, { "largest-bits", 1, NULL, 'l' }, { "alignment", 1, NULL, 'a' },
        { "statistics", 1, NULL, 'i' },
        { 0 },
    };
    for (int option; (option = getopt_long(count, arguments, "", known, NULL)) != -1;) {
        uint64_t value = optarg == NULL ? 0 : strtoull(optarg, NULL, 10);
        switch (option) {
        case 's': options.seed = value; break;
        case 't': options.threads = value; break;
        case 'o': options.operations = value; break;
        case 'r': options.rounds = value; break;
        case 'l': options.largest_bits = value; break;
        case 'i': options.statistics = value; break;
        case 'a': least_alignment = value; break;
        default: exit(2);
        }
    }
    bool fine = options.threads >= 1 && options.threads <= MOST_THREADS && options.rounds >= 1;
    fine = fine && options.largest_bits >= 1 && options.largest_bits <= 30;
    fine = fine && (least_alignment == 8 || least_alignment == 16);
    if (!fine || optind != count) {
        fputs(usage, stderr);
        exit(2);
    }
}

int main(int count, char **arguments)
{
    read_options(count, arguments);
    prepare();
    for (uint64_t round = 0; round < options.rounds; round++)
        perform_round(round);
    clear();
    report();
    return 0;
}
