/* header_twins inlined|plain TURNS OPS SEED SLOTS: one random sequence of calls, a part of them by heapsmith.h or all of them
 * by malloc and free. Two threads take turns, and new ones come; whoever frees may be another than who allocated. Prints
 * where each block lies, and then every counter: they must not differ. */
#include "heapsmith.h"

#include <inttypes.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "9_api/api.h"

#define SIZES(ONE) \
    ONE(0) ONE(1) ONE(8) ONE(9) ONE(16) ONE(24) ONE(40) ONE(48) ONE(64) ONE(65) ONE(100) ONE(200) ONE(256) ONE(500) \
    ONE(1000) ONE(1024) ONE(1025) ONE(1500) ONE(2000) ONE(2048) ONE(4000) ONE(4096) ONE(8000) ONE(32768) ONE(50000)

enum { LANES = 2, TURNS_OF_A_THREAD = 5, MOST_SLOTS = 100000, KINDS = 25 };

struct slot {
    void *block;
    int kind;
    bool moved; /* by realloc, or aligned: for free() alone */
};

static struct slot slots[MOST_SLOTS];
static unsigned used;
static uint32_t state;
static long ops;
static bool plain;
static sem_t begin[LANES], done;
static bool last[LANES];

static uint32_t below(uint32_t bound)
{
    state ^= state << 13;
    state ^= state >> 17;
    state ^= state << 5;
    return (uint32_t)((uint64_t)state * bound >> 32);
}

#define NUMBER(bytes) bytes,
static const size_t bytes_of[KINDS] = { SIZES(NUMBER) };

static void *take(int kind)
{
    switch (bytes_of[kind]) {
#define CASE(bytes) case bytes: return plain ? malloc(bytes) : hs_malloc(bytes);
        SIZES(CASE)
#undef CASE
    }
    return NULL;
}

static void give(void *block, int kind)
{
    switch (bytes_of[kind]) {
#define CASE(bytes) case bytes: hs_free_sized(block, bytes); return;
        SIZES(CASE)
#undef CASE
    }
}

static void fill(struct slot *slot)
{
    uint32_t how = below(16);
    slot->kind = (int)below(below(4) != 0 ? 10 : KINDS);
    size_t bytes = bytes_of[slot->kind];
    slot->moved = how == 0;
    if (how == 0)
        slot->block = below(2) ? aligned_alloc(64, bytes) : realloc(malloc(bytes / 2), bytes > 0 ? bytes : 1);
    else if (how == 1)
        slot->block = calloc(1, bytes);
    else
        slot->block = how < 6 ? malloc(bytes) : take(slot->kind);
    printf("%" PRIi64 "\n", heapsmith_locate(slot->block));
    if (slot->block != NULL)
        memset(slot->block, 0xa5, bytes);
}

static void empty(struct slot *slot)
{
    if (below(4) == 0 || slot->moved || plain)
        free(slot->block);
    else
        give(slot->block, slot->kind);
    slot->block = NULL;
}

static void *work(void *argument)
{
    int lane = *(int *)argument;
    for (bool more = true; more;) {
        sem_wait(&begin[lane]);
        for (long op = 0; op < ops; op++) {
            struct slot *slot = &slots[below(used)];
            if (slot->block == NULL)
                fill(slot);
            else
                empty(slot);
        }
        more = !last[lane];
        sem_post(&done);
    }
    return NULL;
}

int main(int count, char **value)
{
    if (count != 6)
        return 2;
    plain = strcmp(value[1], "plain") == 0;
    long turns = atol(value[2]);
    static int lanes[LANES] = { 0, 1 };
    pthread_t thread[LANES];
    bool alive[LANES] = { false, false };
    int took[LANES] = { 0, 0 };
    ops = atol(value[3]);
    state = (uint32_t)atol(value[4]);
    used = (unsigned)atol(value[5]);
    sem_init(&done, 0, 0);
    for (int lane = 0; lane < LANES; lane++)
        sem_init(&begin[lane], 0, 0);
    for (long turn = 0; turn < turns; turn++) {
        int lane = (int)below(LANES);
        if (!alive[lane] && pthread_create(&thread[lane], NULL, work, &lanes[lane]) != 0)
            continue; /* without memory for a thread the other one has the turn */
        alive[lane] = true;
        last[lane] = ++took[lane] % TURNS_OF_A_THREAD == 0;
        sem_post(&begin[lane]);
        sem_wait(&done);
        if (last[lane]) {
            pthread_join(thread[lane], NULL);
            alive[lane] = false;
        }
    }
    for (unsigned index = 0; index < used; index++)
        empty(&slots[index]);
    uint64_t counters[4096];
    heapsmith_counters(counters);
    for (size_t index = 0; index < heapsmith_counter_count(); index++)
        printf("%" PRIu64 "\n", counters[index]);
    heapsmith_check();
    return 0;
}
