/* lifetimes KIND NUMBER...: asks for blocks with the lifetimes of a kind of the table below, writes all bytes of each or a part,
 * and prints the KiB that were resident at the peak and on average, a sample each THOUSAND calls. */
#include <fcntl.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { PAGE_KIB = 4, PAGE = 4096, MOST_NUMBERS = 5, THOUSAND = 1000, LINE_BYTES = 128, RING = 1 << 18, BASE_BLOCKS = 2000 };

static long number[MOST_NUMBERS];
static int statm;
static pthread_mutex_t sampling = PTHREAD_MUTEX_INITIALIZER;
static long calls, samples, most_kib;
static double sum_kib;

static void sample(void)
{
    char line[LINE_BYTES] = "";
    char *resident = line;
    if (pread(statm, line, sizeof line - 1, 0) <= 0)
        exit(3);
    strtol(line, &resident, 10);
    long kib = PAGE_KIB * strtol(resident, NULL, 10);
    sum_kib += (double)kib;
    samples++;
    most_kib = kib > most_kib ? kib : most_kib;
}

static void called(void)
{
    if (__atomic_add_fetch(&calls, 1, __ATOMIC_RELAXED) % THOUSAND == 0 && pthread_mutex_trylock(&sampling) == 0) {
        sample();
        pthread_mutex_unlock(&sampling);
    }
}

static uint32_t next_of(uint32_t *state, uint32_t bound) /* Marsaglia, "Xorshift RNGs" */
{
    *state ^= *state << 13;
    *state ^= *state >> 17;
    *state ^= *state << 5;
    return (uint32_t)((uint64_t)*state * bound >> 32);
}

static uint32_t drawn = 2463534242u;

static long between(long least, long most)
{
    return least + (long)next_of(&drawn, (uint32_t)(most - least));
}

static void *checked(void *block)
{
    if (block == NULL)
        exit(4);
    called();
    return block;
}

/* A block of which the first bytes are written. */
static char *block_of(long bytes, long written)
{
    return memset(checked(malloc((size_t)bytes)), 1, (size_t)written);
}

static char *whole(long bytes)
{
    return block_of(bytes, bytes);
}

static void drop(void *block)
{
    free(block);
    called();
}

static char **pointers(long count)
{
    return checked(calloc((size_t)count, sizeof(char *)));
}

/* Many sizes: each doubling as likely as half of the one before. */
static long skewed(long least, long most)
{
    long bytes = least;
    while (2 * bytes <= most && next_of(&drawn, 2) == 1)
        bytes *= 2;
    bytes += between(0, bytes);
    return bytes < most ? bytes : most;
}

/* drift COUNT LEAST MOST ROUNDS: COUNT times a round one of COUNT blocks is replaced; the mean goes from LEAST to MOST bytes. */
static void drift(void)
{
    char **block = pointers(number[0]);
    for (long round = 0; round < number[3]; round++) {
        long mean = number[1] + (number[2] - number[1]) * round / number[3];
        for (long i = 0; i < number[0]; i++) {
            long which = between(0, number[0]);
            drop(block[which]);
            block[which] = whole(mean / 2 + between(0, mean));
        }
    }
}

/* spikes BYTES MIB COUNT CALLS: COUNT spikes of MIB in blocks of BYTES; before each, CALLS replacements in a small heap. */
static void spikes(void)
{
    long count = number[1] * (1 << 20) / number[0];
    char **spike = pointers(count), **base = pointers(BASE_BLOCKS);
    for (long round = 0; round < number[2]; round++) {
        for (long i = 0; i < count; i++)
            spike[i] = whole(number[0]);
        for (long i = 0; i < count; i++)
            drop(spike[i]);
        for (long i = 0; i < number[3]; i++) {
            long which = between(0, BASE_BLOCKS);
            drop(base[which]);
            base[which] = whole(between(16, 516));
        }
    }
}

/* pinned COUNT STAY: six rounds of COUNT blocks of ever larger sizes, of which each STAYth stays. */
static void pinned(void)
{
    char **block = pointers(number[0]);
    for (long round = 0; round < 6; round++) {
        for (long i = 0; i < number[0]; i++)
            if (block[i] == NULL)
                block[i] = whole(32 + 32 * round + between(0, 200));
        for (long i = 0; i < number[0]; i++)
            if (i % number[1] != round) {
                drop(block[i]);
                block[i] = NULL;
            }
    }
}

/* fifo COUNT LEAST MOST CALLS: the oldest of COUNT blocks is replaced. */
static void fifo(void)
{
    char **block = pointers(number[0]);
    for (long i = 0; i < number[3]; i++) {
        drop(block[i % number[0]]);
        block[i % number[0]] = whole(between(number[1], number[2]));
    }
}

/* lru BYTES LEAST MOST CALLS PART: a cache of BYTES in blocks of many sizes, the oldest make room; with PART the first quarter of
 * a block is written alone. */
static void lru(void)
{
    static struct {
        char *block;
        long bytes;
    } ring[RING];
    long held = 0, oldest = 0;
    for (long newest = 0; newest < number[3]; newest++) {
        long bytes = skewed(number[1], number[2]);
        for (; held + bytes > number[0] || newest - oldest == RING; oldest++) {
            held -= ring[oldest % RING].bytes;
            drop(ring[oldest % RING].block);
        }
        ring[newest % RING].block = block_of(bytes, number[4] > 0 ? bytes / 4 : bytes);
        ring[newest % RING].bytes = bytes;
        held += bytes;
    }
}

/* strings COUNT BYTES: COUNT strings grow by 24 bytes in doubling buffers; each eighth stays. */
static void strings(void)
{
    for (long i = 0; i < number[0]; i++) {
        size_t room = 16;
        char *string = whole((long)room);
        for (size_t length = 0; length < (size_t)number[1]; length += 24) {
            while (length + 24 > room)
                string = checked(realloc(string, room *= 2));
            memset(string + length, 1, 24);
        }
        if (i % 8 > 0)
            drop(string);
    }
}

/* temporaries LEAST MOST CALLS: a block that is freed at once beside a small heap; a byte of each page is written. */
static void temporaries(void)
{
    for (long i = 0; i < BASE_BLOCKS; i++)
        whole(between(64, 464));
    for (long i = 0; i < number[2]; i++) {
        long bytes = between(number[0], number[1]);
        char *block = block_of(bytes, 1);
        for (long at = 0; at < bytes; at += PAGE)
            block[at] = 1;
        sample();
        drop(block);
    }
}

/* aligned COUNT LEAST MOST CALLS: one of COUNT blocks, aligned to half of its bytes at least, is replaced. */
static void aligned(void)
{
    void **block = (void **)pointers(number[0]);
    for (long i = 0; i < number[3]; i++) {
        long which = between(0, number[0]), alignment = number[1];
        while (2 * alignment <= number[2] && next_of(&drawn, 2) == 1)
            alignment *= 2;
        size_t bytes = (size_t)(alignment + between(0, alignment));
        drop(block[which]);
        if (posix_memalign(&block[which], alignment > PAGE ? PAGE : (size_t)alignment, bytes) != 0)
            exit(4);
        memset(block[which], 1, bytes);
        called();
    }
}

/* pools COUNT: twenty times COUNT blocks of 8 to 64 KiB come and go together, and a small block 3,000 times. */
static void pools(void)
{
    for (long round = 0; round < 20; round++) {
        char **block = pointers(number[0]);
        for (long i = 0; i < number[0]; i++)
            block[i] = whole(i % 16 == 0 ? 8192 : 65536 / (1 + i % 8));
        for (long i = 0; i < number[0]; i++)
            drop(block[i]);
        for (long i = 0; i < 3000; i++)
            drop(whole(100));
        drop(block);
    }
}

/* churn COUNT: COUNT small blocks, as many replacements, and the end of all. */
static void churn(void)
{
    char **block = pointers(number[0]);
    for (long i = 0; i < 2 * number[0]; i++) {
        long which = i < number[0] ? i : between(0, number[0]);
        drop(block[which]);
        block[which] = whole(between(16, 116));
    }
    for (long i = 0; i < number[0]; i++)
        drop(block[i]);
}

static pthread_barrier_t all_hold;

/* A thread's blocks are replaced ROUNDS times in the mean, and stay until all threads have theirs. */
static void *hold(void *seed)
{
    uint32_t state = (uint32_t)(uintptr_t)seed * 2654435761u + 1;
    char **block = pointers(number[1]);
    for (long i = 0; i < number[1] * (1 + number[4]); i++) {
        long which = i < number[1] ? i : (long)next_of(&state, (uint32_t)number[1]);
        drop(block[which]);
        block[which] = whole(number[2] + (long)next_of(&state, (uint32_t)(number[3] - number[2])));
    }
    pthread_barrier_wait(&all_hold);
    pthread_barrier_wait(&all_hold);
    for (long i = 0; i < number[1]; i++)
        drop(block[i]);
    drop(block);
    return NULL;
}

/* crowd THREADS COUNT LEAST MOST ROUNDS: threads with COUNT blocks each. */
static void crowd(void)
{
    pthread_t *thread = (pthread_t *)checked(calloc((size_t)number[0], sizeof *thread));
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, 1 << 16);
    pthread_barrier_init(&all_hold, NULL, (unsigned)number[0] + 1);
    for (long i = 0; i < number[0]; i++)
        if (pthread_create(&thread[i], &attributes, hold, (void *)(uintptr_t)(i + 1)) != 0)
            exit(5);
    pthread_barrier_wait(&all_hold);
    sample();
    pthread_barrier_wait(&all_hold);
    for (long i = 0; i < number[0]; i++)
        pthread_join(thread[i], NULL);
}

static const struct {
    const char *name;
    void (*perform)(void);
} kinds[] = {
    { "drift", drift }, { "spikes", spikes }, { "pinned", pinned }, { "fifo", fifo }, { "lru", lru }, { "strings", strings },
    { "temporaries", temporaries }, { "aligned", aligned }, { "pools", pools }, { "churn", churn }, { "crowd", crowd },
};

int main(int count, char **value)
{
    statm = open("/proc/self/statm", O_RDONLY);
    for (int i = 2; i < count && i < MOST_NUMBERS + 2; i++)
        number[i - 2] = strtol(value[i], NULL, 10);
    for (size_t kind = 0; count > 1 && kind < sizeof kinds / sizeof *kinds; kind++)
        if (strcmp(kinds[kind].name, value[1]) == 0) {
            kinds[kind].perform();
            sample();
            printf("{\"peak_kib\": %ld, \"average_kib\": %.0f}\n", most_kib, sum_kib / (double)samples);
            return 0;
        }
    fprintf(stderr, "usage: lifetimes KIND NUMBER...\n");
    return 2;
}
