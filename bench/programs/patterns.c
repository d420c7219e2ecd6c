/* patterns KIND NUMBER...: asks for memory in one of the patterns of the table below, and writes how many KiB were resident at
 * the peak, while the last blocks were live, and after all were freed, and what lay on huge pages where a pattern tells. */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { PAGE = 4096, MOST_NUMBERS = 5, STATUS_BYTES = 1 << 12 };

static long number[MOST_NUMBERS];
static long live_kib, huge_kib;

/* A line of a file of /proc, read without malloc. */
static long kib_in(const char *path, const char *name)
{
    static char text[STATUS_BYTES];
    FILE *file = fopen(path, "r");
    if (file == NULL)
        exit(3);
    static char buffer[BUFSIZ];
    setbuf(file, buffer);
    size_t used = fread(text, 1, sizeof text - 1, file);
    fclose(file);
    text[used] = '\0';
    const char *line = strstr(text, name);
    return line != NULL ? strtol(line + strlen(name), NULL, 10) : -1;
}

static long kib_of(const char *name)
{
    return kib_in("/proc/self/status", name);
}

static void *checked(void *block)
{
    if (block == NULL)
        exit(4);
    return block;
}

static uint32_t drawn = 2463534242u; /* Marsaglia, "Xorshift RNGs" */

static uint32_t below(uint32_t bound)
{
    drawn ^= drawn << 13;
    drawn ^= drawn >> 17;
    drawn ^= drawn << 5;
    return (uint32_t)((uint64_t)drawn * bound >> 32);
}

static void **pointers(long count)
{
    return checked(calloc((size_t)count, sizeof(void *)));
}

static void free_all(void **block, long count)
{
    live_kib = kib_of("VmRSS:");
    for (long i = 0; i < count; i++)
        free(block[i]);
    free(block);
}

/* turns VECTORS STEP END ROUNDS SMALL: vectors grow in turns by STEP bytes, or by STEP percent where STEP is below 1,000, each byte
 * written; between them SMALL blocks of 100 bytes a turn. */
static void turns(void)
{
    long vectors = number[0], step = number[1], end = number[2], smalls = number[4];
    for (long round = 0; round < number[3]; round++) {
        char **vector = (char **)pointers(vectors);
        void **small = NULL;
        for (long bytes = 0, next; bytes < end; bytes = next) {
            next = step >= 1000 ? bytes + step : bytes * (100 + step) / 100 > bytes ? bytes * (100 + step) / 100 : 64;
            for (long v = 0; v < vectors; v++) {
                vector[v] = checked(realloc(vector[v], (size_t)next));
                memset(vector[v] + bytes, 1, (size_t)(next - bytes));
            }
            for (long i = 0; i < smalls; i++) {
                void **block = checked(malloc(100));
                *block = small;
                small = block;
            }
        }
        free_all((void **)vector, vectors);
        for (void **after; small != NULL; small = after) {
            after = *small;
            free(small);
        }
    }
}

/* sparse COUNT BYTES: blocks of which one byte is written. */
static void sparse(void)
{
    void **block = pointers(number[0]);
    for (long i = 0; i < number[0]; i++) {
        char *bytes = block[i] = checked(malloc((size_t)number[1]));
        bytes[below((uint32_t)number[1])] = 1;
    }
    free_all(block, number[0]);
}

/* zeroed COUNT BYTES PLACES READS: blocks of calloc, written at some places, and read all over where READS is 1. */
static void zeroed(void)
{
    void **block = pointers(number[0]);
    volatile char sum = 0;
    for (long i = 0; i < number[0]; i++) {
        char *bytes = block[i] = checked(calloc(1, (size_t)number[1]));
        for (long place = 0; place < number[2]; place++)
            bytes[below((uint32_t)number[1])] = 1;
        for (long at = 0; number[3] && at < number[1]; at += PAGE)
            sum += bytes[at];
    }
    free_all(block, number[0]);
}

/* stretched COUNT BYTES TIMES: blocks of which one byte is written, each then made twice as long, TIMES times. */
static void stretched(void)
{
    void **block = pointers(number[0]);
    for (long i = 0; i < number[0]; i++) {
        block[i] = checked(malloc((size_t)number[1]));
        *(char *)block[i] = 1;
    }
    for (long time = 1; time <= number[2]; time++)
        for (long i = 0; i < number[0]; i++)
            block[i] = checked(realloc(block[i], (size_t)number[1] << time));
    free_all(block, number[0]);
}

/* replaced COUNT BYTES TIMES: blocks of calloc of which a byte is written; TIMES times a random block is replaced. */
static void replaced(void)
{
    void **block = pointers(number[0]);
    for (long i = 0; i < number[2]; i++) {
        uint32_t which = below((uint32_t)number[0]);
        free(block[which]);
        block[which] = checked(calloc(1, (size_t)(number[1] / 2 + below((uint32_t)number[1] / 2))));
        *(char *)block[which] = 1;
    }
    free_all(block, number[0]);
}

/* after COUNT BYTES FILLED KEPT: as sparse, after FILLED blocks of 1 MB were filled, which are live until the end if KEPT. */
static void after(void)
{
    enum { MEGABYTE = 1000000 };
    static char *filled[1 << 12];
    for (long i = 0; i < number[2]; i++)
        filled[i] = memset(checked(malloc(MEGABYTE)), 1, MEGABYTE);
    huge_kib = kib_in("/proc/self/smaps_rollup", "AnonHugePages:");
    for (long i = 0; i < number[2] && !number[3]; i++)
        free(filled[i]);
    sparse();
    for (long i = 0; i < number[2] && number[3]; i++)
        free(filled[i]);
}

/* A size from `least` bytes on; each doubling is equally likely. */
static size_t size_between(long least, long most)
{
    long doublings = 0;
    while (least << (doublings + 1) <= most)
        doublings++;
    size_t low = (size_t)least << below((uint32_t)doublings + 1);
    return low + below((uint32_t)low);
}

struct link {
    struct link *older;
    size_t bytes;
};

static struct link *newest;

static long drop_newest(void)
{
    struct link *gone = newest;
    long bytes = (long)gone->bytes;
    newest = gone->older;
    free(gone);
    return bytes;
}

/* phases LEAST MOST BYTES KEPT PHASES: in turn BYTES and, of those, the oldest KEPT are live; all are written. The least
 * size of a phase is LEAST times 1, 2, 4 or 8. */
static void phases(void)
{
    long bytes = 0;
    for (long phase = 0; phase < number[4]; phase++) {
        long least = number[0] << phase % 4, most = number[1] > 2 * least ? number[1] : 2 * least;
        for (; bytes < number[2]; bytes += (long)newest->bytes) {
            size_t length = size_between(least, most);
            struct link *block = memset(checked(malloc(length)), 1, length);
            *block = (struct link){ newest, length };
            newest = block;
        }
        while (bytes > number[3])
            bytes -= drop_newest();
        live_kib = kib_of("VmRSS:");
        while (phase + 1 < number[4] && newest != NULL && bytes > number[3] / 2)
            bytes -= drop_newest();
    }
    while (newest != NULL)
        drop_newest();
}

/* drift COUNT LEAST MOST ROUNDS: COUNT times a round a random one of COUNT blocks is replaced; their mean size goes from LEAST to
 * MOST bytes. */
static void drift(void)
{
    void **block = pointers(number[0]);
    for (long round = 0; round < number[3]; round++) {
        long mean = number[1] + (number[2] - number[1]) * round / number[3];
        for (long i = 0; i < number[0]; i++) {
            uint32_t which = below((uint32_t)number[0]);
            size_t bytes = (size_t)(mean / 2 + below((uint32_t)mean));
            free(block[which]);
            block[which] = memset(checked(malloc(bytes)), 1, bytes);
        }
    }
    free_all(block, number[0]);
}

static pthread_mutex_t one_asks = PTHREAD_MUTEX_INITIALIZER;
static pthread_barrier_t all_hold;

static void *hold(void *with)
{
    void **block = with;
    pthread_mutex_lock(&one_asks);
    for (long i = 0; i < number[1]; i++) {
        size_t bytes = (size_t)(number[2] + below((uint32_t)(number[3] - number[2])));
        block[i] = memset(checked(malloc(bytes)), 1, bytes);
    }
    pthread_mutex_unlock(&one_asks);
    pthread_barrier_wait(&all_hold);
    for (long i = 0; i < number[1]; i++)
        free(block[i]);
    return NULL;
}

/* parked THREADS BLOCKS LEAST MOST: each thread allocates BLOCKS blocks, and waits until all have. */
static void parked(void)
{
    pthread_t *thread = checked(calloc((size_t)number[0], sizeof *thread));
    void **block = pointers(number[0] * number[1]);
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, 1 << 16);
    pthread_barrier_init(&all_hold, NULL, (unsigned)number[0] + 1);
    for (long i = 0; i < number[0]; i++)
        if (pthread_create(&thread[i], &attributes, hold, block + i * number[1]) != 0)
            exit(5);
    pthread_barrier_wait(&all_hold);
    live_kib = kib_of("VmRSS:");
    for (long i = 0; i < number[0]; i++)
        pthread_join(thread[i], NULL);
    free(block);
    free(thread);
}

static const struct {
    const char *name;
    void (*perform)(void);
} kinds[] = {
    { "turns", turns }, { "sparse", sparse }, { "zeroed", zeroed }, { "stretched", stretched }, { "replaced", replaced },
    { "phases", phases }, { "after", after }, { "drift", drift }, { "parked", parked },
};

int main(int count, char **value)
{
    for (int i = 2; i < count && i < MOST_NUMBERS + 2; i++)
        number[i - 2] = strtol(value[i], NULL, 10);
    for (size_t kind = 0; count > 1 && kind < sizeof kinds / sizeof *kinds; kind++)
        if (strcmp(kinds[kind].name, value[1]) == 0) {
            kinds[kind].perform();
            printf("{\"peak_kib\": %ld, \"live_kib\": %ld, \"end_kib\": %ld, \"huge_kib\": %ld}\n", kib_of("VmHWM:"), live_kib,
                   kib_of("VmRSS:"), huge_kib);
            return 0;
        }
    fprintf(stderr, "usage: patterns KIND NUMBER...\n");
    return 2;
}
