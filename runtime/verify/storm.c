/* Threads all at once: blocks handed from any to any, forks meanwhile, late destructors, and memory that runs out.
 *
 * Nothing here has an order, so nothing is compared with the model: contents must stay, and the heap's equations hold. */
#define _GNU_SOURCE
#include "driver.h"

#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
    THREADS = 4,
    ROUNDS = 2, /* each with threads of their own */
    OPERATIONS = 12000,
    SOME = 256, /* operations: a thread then says that it goes on */
    PLACES = 256, /* where blocks wait to be freed, by whomever */
    FORKS = 8, /* a round */
    LATE_THREADS = 24, /* more than there are heaps to adopt */
    EDGE = 8,
    BYTES = 100,
    LARGE_BYTES = 100000,
    HUGE_BYTES = 1 << 30,
};

/* What a block of the storm begins with; its last EDGE bytes repeat the seed's lowest one. */
struct stormy {
    uint32_t bytes;
    uint32_t seed;
};

static _Atomic(struct stormy *) place[PLACES];
static atomic_uint births, no_births;
static sem_t go;

/* Marsaglia, "Xorshift RNGs", Journal of Statistical Software 8(14), 2003. */
static uint32_t draw(uint32_t *state)
{
    *state ^= *state << 13;
    *state ^= *state >> 17;
    *state ^= *state << 5;
    return *state;
}

static struct stormy *born(uint32_t *state)
{
    uint32_t kind = draw(state) % 256;
    uint32_t bytes = 16 + draw(state) % (kind < 200 ? 200 : kind < 250 ? 4000 : LARGE_BYTES);
    struct stormy *block = kind % 8 == 0 ? library.calloc(1, bytes) : library.malloc(bytes);
    births++;
    if (block == NULL) {
        no_births++; /* a span may be used up */
        return NULL;
    }
    if (kind % 8 == 0 && (block->bytes != 0 || ((char *)block)[bytes - 1] != 0))
        fail("threads at once: calloc gives a block that is not zero");
    *block = (struct stormy){ bytes, draw(state) };
    memset((char *)block + bytes - EDGE, (int)(block->seed & 255), EDGE);
    return block;
}

static void died(struct stormy *block)
{
    if (block == NULL)
        return;
    const unsigned char *end = (unsigned char *)block + block->bytes;
    if (block->bytes < 16 || block->bytes > 16 + LARGE_BYTES)
        fail("threads at once: the begin of a block changed");
    for (int back = 1; back <= EDGE; back++)
        if (end[-back] != (block->seed & 255))
            fail("threads at once: the end of a block of %u bytes changed", block->bytes);
    library.free(block);
}

static void *storm_thread(void *with)
{
    uint32_t state = (uint32_t)(uintptr_t)with;
    for (int operation = 0; operation < OPERATIONS; operation++) {
        if (operation % SOME == 0)
            steps++;
        struct stormy *block = draw(&state) % 2 == 0 ? born(&state) : NULL;
        died(atomic_exchange(&place[draw(&state) % PLACES], block));
    }
    return NULL;
}

/* A child can allocate whatever its parent's threads were doing. */
static void fork_once(void)
{
    pid_t child = fork();
    if (child == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL); /* whoever reads our output waits for the child's end too */
        void *small = library.malloc(BYTES);
        void *large = library.malloc(LARGE_BYTES);
        library.free(small);
        library.free(large);
        _exit(0);
    }
    int status;
    steps++;
    if (child < 0 || waitpid(child, &status, 0) != child || status != 0)
        fail("a forked child cannot allocate");
}

static void storm(void)
{
    for (uintptr_t round = 0; round < ROUNDS; round++) {
        pthread_t thread[THREADS];
        for (uintptr_t index = 0; index < THREADS; index++)
            if (pthread_create(&thread[index], NULL, storm_thread, (void *)(round * THREADS + index + 1)) != 0)
                lack("a thread cannot be started");
        for (int times = 0; times < FORKS; times++)
            fork_once();
        for (int index = 0; index < THREADS; index++)
            pthread_join(thread[index], NULL);
        library.check();
    }
    if (2 * no_births > births)
        fail("threads at once: %u of %u requests got no block", no_births, births);
    for (int index = 0; index < PLACES; index++)
        died(atomic_exchange(&place[index], NULL));
    library.check();
}

static void destroy_late(void *with)
{
    library.free(with);
    library.free(library.malloc(BYTES));
}

static pthread_key_t late_key;

static void *late_thread(void *with)
{
    (void)with;
    pthread_setspecific(late_key, library.malloc(BYTES));
    return NULL;
}

/* A destructor that runs after the library's own finds a thread without a heap, which gets one again. */
static void late_destructors(size_t counters)
{
    enum { HEAPS = 4, ADOPTIONS = 5 };
    uint64_t before[counters], after[counters];
    pthread_t thread;
    library.counters(before);
    if (pthread_key_create(&late_key, destroy_late) != 0 || pthread_create(&thread, NULL, late_thread, NULL) != 0)
        lack("a thread cannot be started");
    pthread_join(thread, NULL);
    pthread_key_delete(late_key);
    library.counters(after);
    if (after[HEAPS] + after[ADOPTIONS] - before[HEAPS] - before[ADOPTIONS] != 2)
        fail("a thread that allocates in a late destructor has no heap of its own then");
    library.check();
}

static bool refused(void *block)
{
    if (block == NULL && errno != ENOMEM)
        fail("memory is used up: errno is %d, not ENOMEM", errno);
    return block == NULL;
}

static void *poor_thread(void *with)
{
    sem_wait(&go);
    steps++;
    errno = 0;
    unsigned char *small = library.malloc(BYTES);
    if (!refused(small))
        memset(small, 1, BYTES);
    library.free(small);
    errno = 0;
    if (!refused(library.malloc(HUGE_BYTES + 1)))
        fail("memory is used up, but not for a huge block");
    errno = 0;
    if (!refused(library.realloc(with, HUGE_BYTES + 1)))
        fail("memory is used up, but not for a block that grows");
    library.free(with);
    return NULL;
}

/* An emulator of user programs takes a limit on its own address space and does not hold it. */
static bool limits_hold(void)
{
    struct rlimit before;
    getrlimit(RLIMIT_AS, &before);
    setrlimit(RLIMIT_AS, &(struct rlimit){ 1 << 20, before.rlim_max });
    void *beyond = mmap(NULL, HUGE_BYTES, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    setrlimit(RLIMIT_AS, &before);
    if (beyond != MAP_FAILED)
        munmap(beyond, HUGE_BYTES);
    return beyond == MAP_FAILED;
}

static void memory_runs_out(void)
{
    pthread_t thread[LATE_THREADS];
    struct rlimit before;
    getrlimit(RLIMIT_AS, &before);
    sem_init(&go, 0, 0);
    for (int index = 0; index < LATE_THREADS; index++)
        if (pthread_create(&thread[index], NULL, poor_thread, library.malloc(LARGE_BYTES)) != 0)
            lack("a thread cannot be started");
    setrlimit(RLIMIT_AS, &(struct rlimit){ 1 << 20, before.rlim_max });
    for (int index = 0; index < LATE_THREADS; index++)
        sem_post(&go);
    for (int index = 0; index < LATE_THREADS; index++)
        pthread_join(thread[index], NULL);
    setrlimit(RLIMIT_AS, &before);
    library.check();
}

void together(bool threads_own_heaps)
{
    begin_phase("a late destructor allocates");
    if (threads_own_heaps)
        late_destructors(library.counter_count());
    begin_phase("many threads at once, with forks");
    storm();
    begin_phase("memory runs out for many threads");
    if (limits_hold())
        memory_runs_out();
}
