/* Threads that come and go. argv: the mode, how many threads, at which to look first; writes KiB of RSS then, at the end,
 * and the heaps created.
 *   sequential  each hands half of its blocks to the main thread, which frees them when the owner is gone. Ten kinds of
 *               thread take turns: what stays resident depends on the last, so memory compares between multiples of ten
 *   sixteen     16 alive at a time, each frees what some other left
 *   endings     allocations in keys' destructors in every round there is, and in a thread_local destructor
 *   early-key   the same with a key made before the first allocation: its destructor runs before the library's
 *   detached    like sequential, detached, joined by nobody */
#include "run_blocks.h"

#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <sys/prctl.h>

enum { BLOCKS = 120, ALIVE = 16, KINDS = 10, HEAPS = 4 /* the counter's place */ };

extern int __cxa_thread_atexit_impl(void (*destructor)(void *), void *object, void *library);
extern void *__dso_handle;

static struct block shared[ALIVE][BLOCKS];
static pthread_key_t key;
static int turn;    /* which thread this is; read while it alone runs */
static int running; /* detached threads */

static long resident_kib(void)
{
    char line[256];
    long kib = -1;
    FILE *file = fopen("/proc/self/smaps_rollup", "r");
    while (file != NULL && fgets(line, sizeof line, file) != NULL)
        if (sscanf(line, "Rss: %ld kB", &kib) == 1)
            break;
    if (file != NULL)
        fclose(file);
    return kib;
}

static long heaps(void)
{
    static uint64_t counters[8192];
    if (heapsmith_counters == NULL || heapsmith_counter_count() > 8192)
        return 0;
    heapsmith_counters(counters);
    return (long)counters[HEAPS];
}

static void allocate(struct block *block, uint32_t *random)
{
    size_t bytes = random_bytes(random);
    *block = (struct block){ malloc(bytes), bytes, (unsigned char)next_random(random) };
    demand(block->start != NULL, "malloc failed");
    fill(block);
}

/* A row of blocks, of which the first half stays. */
static void use(struct block *row, uint32_t random)
{
    for (int index = 0; index < BLOCKS; index++)
        allocate(&row[index], &random);
    for (int index = 0; index < BLOCKS; index += 3) {
        struct block grown = { realloc(row[index].start, row[index].bytes * 2 + 1), row[index].bytes, row[index].seed };
        demand(grown.start != NULL && kept(&grown, grown.bytes), "realloc lost the contents");
        row[index] = grown;
    }
    for (int index = BLOCKS / 2; index < BLOCKS; index++)
        release(&row[index]);
}

static void clean(struct block *row)
{
    for (int index = 0; index < BLOCKS; index++)
        release(&row[index]);
}

static void *hand_over(void *row)
{
    use(row, (uint32_t)turn % KINDS + 1);
    return NULL;
}

static void *exchange(void *row)
{
    clean(row); /* what an earlier thread of this place left */
    use(row, (uint32_t)((struct block(*)[BLOCKS])row - shared) % 5 + 1);
    return NULL;
}

/* The block's first byte is the round. */
static void end_of_key(void *value)
{
    unsigned char *block = value;
    int round = block[0];
    free(block);
    for (uint32_t random = 99, index = 0; index < 20; index++) {
        struct block brief;
        allocate(&brief, &random);
        release(&brief);
    }
    if (round + 1 < PTHREAD_DESTRUCTOR_ITERATIONS) {
        block = malloc(300);
        demand(block != NULL, "malloc failed in a destructor");
        block[0] = (unsigned char)(round + 1);
        pthread_setspecific(key, block);
    }
}

static void end_of_object(void *object)
{
    free(object);
    free(malloc(5000));
}

static void *endings(void *unused)
{
    unsigned char *block = malloc(300);
    demand(block != NULL, "malloc failed");
    block[0] = 0;
    pthread_setspecific(key, block);
    __cxa_thread_atexit_impl(end_of_object, malloc(2000), &__dso_handle);
    return unused;
}

static void *detached(void *unused)
{
    struct block row[BLOCKS];
    use(row, 5);
    clean(row);
    __atomic_fetch_sub(&running, 1, __ATOMIC_RELEASE);
    return unused;
}

static void create(pthread_t *thread, void *(*work)(void *), void *with)
{
    demand(pthread_create(thread, NULL, work, with) == 0, "pthread_create failed");
}

static void one_by_one(const char *mode, int index)
{
    pthread_t thread;
    struct block *row = shared[index % ALIVE];
    turn = index;
    if (strcmp(mode, "sequential") == 0) {
        create(&thread, hand_over, shared[0]);
        pthread_join(thread, NULL);
        clean(shared[0]);
    } else if (strcmp(mode, "endings") == 0 || strcmp(mode, "early-key") == 0) {
        create(&thread, endings, NULL);
        pthread_join(thread, NULL);
    } else if (strcmp(mode, "detached") == 0) {
        __atomic_fetch_add(&running, 1, __ATOMIC_RELAXED);
        create(&thread, detached, NULL);
        pthread_detach(thread);
        while (__atomic_load_n(&running, __ATOMIC_ACQUIRE) > 4)
            usleep(50);
    } else {
        static pthread_t alive[ALIVE];
        if (index >= ALIVE)
            pthread_join(alive[index % ALIVE], NULL);
        create(&alive[index % ALIVE], exchange, row);
    }
}

static void at_exit(void)
{
    uint32_t random = 3;
    for (int index = 0; index < 50; index++) {
        struct block brief;
        allocate(&brief, &random);
        release(&brief);
    }
}

__attribute__((destructor)) static void at_end(void)
{
    free(realloc(malloc(100), 100000));
}

int main(int count, char **arguments)
{
    demand(count == 4 && atexit(at_exit) == 0, "usage: MODE THREADS FIRST");
    if (strcmp(arguments[1], "early-key") != 0)
        free(malloc(1));
    demand(pthread_key_create(&key, end_of_key) == 0, "no key");
    int threads = atoi(arguments[2]), first = atoi(arguments[3]);
    long early = -1;
    /* Else khugepaged fills holes of huge pages, whenever it comes by: RSS that no thread asked for. */
    demand(prctl(PR_SET_THP_DISABLE, 1, 0, 0, 0) == 0, "transparent huge pages cannot be switched off");
    resident_kib(); /* looking costs memory once */
    for (int index = 0; index < threads; index++) {
        one_by_one(arguments[1], index);
        if (index + 1 == first)
            early = resident_kib();
    }
    printf("%ld %ld %ld\n", early, resident_kib(), heaps());
    if (heapsmith_check != NULL && strcmp(arguments[1], "sequential") == 0)
        heapsmith_check();
    return 0;
}
