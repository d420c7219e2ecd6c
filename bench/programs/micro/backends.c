/* backends SESSIONS AT_ONCE QUERIES: a server in PostgreSQL's manner. A parent forks a process for each session, AT_ONCE at a
 * time. Memory is in trees of contexts, as in src/backend/utils/mmgr/aset.c: a context is a list of blocks from malloc, each
 * twice as large as the one before, in which chunks are carved; a chunk above CHUNK_LIMIT has a block of its own; a context is
 * dropped as a whole, with its children. A session fills a cache, then builds and drops a tree for each query. The last
 * AT_ONCE sessions drop their caches too, and wait idle until the parent has looked at their memory. There is no dry form:
 * blocks hold links. */
#define _GNU_SOURCE
#include "micro.h"
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
    MOST_AT_ONCE = 256,
    SMALL_CONTEXT = 1 << 10,
    CONTEXT = 8 << 10,
    MOST_BLOCK = 1 << 20,
    CHUNK_LIMIT = 8 << 10,
    SETTINGS = 5000, /* small blocks of the parent */
    CACHED = 60,     /* contexts of a session's cache */
};

struct block {
    struct block *next;
    uint32_t value;
};

struct context {
    struct block *blocks;
    struct context *first, *next; /* children, and the next child of the parent */
    char *at, *end;
    size_t next_bytes;
    uint32_t value;
};

/* In memory of all processes. */
static struct shared {
    uint64_t checksum, blocks;
} *shared;

static uint32_t random_state;
static uint64_t checksum, made;

static void *block_of(size_t bytes)
{
    made++;
    void *block = allocate(bytes);
    touch_ends(block, bytes, random_state);
    return block;
}

static struct context *context(struct context *parent, size_t bytes)
{
    struct context *new = block_of(bytes);
    *new = (struct context){NULL, NULL, NULL, (char *)(new + 1), (char *)new + bytes, 2 * bytes, draw(&random_state)};
    if (parent != NULL) {
        new->next = parent->first;
        parent->first = new;
    }
    return new;
}

/* A chunk of a context; its first word is written. bytes: a multiple of 8. */
static void *chunk(struct context *in, size_t bytes)
{
    if (bytes > CHUNK_LIMIT || in->at + bytes > in->end) {
        size_t whole = bytes > CHUNK_LIMIT ? sizeof(struct block) + bytes : in->next_bytes;
        struct block *block = block_of(whole);
        *block = (struct block){in->blocks, draw(&random_state)};
        in->blocks = block;
        if (bytes > CHUNK_LIMIT)
            return block + 1;
        in->at = (char *)(block + 1);
        in->end = (char *)block + whole;
        in->next_bytes = whole < MOST_BLOCK ? 2 * whole : whole;
    }
    char *found = in->at;
    in->at += bytes;
    *(uint32_t *)found = random_state;
    return found;
}

static void chunks(struct context *in, uint32_t count, uint32_t most_bytes)
{
    for (uint32_t i = 0; i < count; i++)
        chunk(in, (16 + below(&random_state, most_bytes)) / 8 * 8);
}

static void drop(struct context *gone)
{
    for (struct context *child = gone->first, *next; child != NULL; child = next) {
        next = child->next;
        drop(child);
    }
    for (struct block *block = gone->blocks, *next; block != NULL; block = next) {
        next = block->next;
        checksum += block->value;
        release(block);
    }
    checksum += gone->value;
    release(gone);
}

/* One statement: parse, plan, then an executor with expressions, a sort or a hash table that grows, and an array that doubles. */
static void query(struct context *cache)
{
    struct context *message = context(NULL, CONTEXT);
    chunks(message, 200 + below(&random_state, 600), 200);
    chunks(context(message, CONTEXT), 100 + below(&random_state, 1000), 120);
    struct context *executor = context(message, CONTEXT);
    for (uint32_t nodes = 1 + below(&random_state, 8); nodes > 0; nodes--) {
        chunks(executor, 40, 400);
        chunks(context(executor, CONTEXT), below(&random_state, 300), 100);
    }
    struct context *work = context(executor, CONTEXT);
    chunks(work, 1u << (4 + below(&random_state, 10)), 256);
    for (uint32_t doublings = below(&random_state, 7), i = 1; i <= doublings; i++)
        chunk(work, (size_t)CHUNK_LIMIT << i);
    if (below(&random_state, 8) == 0)
        chunks(context(cache, SMALL_CONTEXT), 10, 100);
    drop(message);
}

static void session(long which, long queries)
{
    random_state = (uint32_t)(SEED + which);
    checksum = made = 0;
    struct context *cache = context(NULL, CONTEXT);
    chunks(cache, 3000, 300);
    for (int i = 0; i < CACHED; i++)
        chunks(context(cache, SMALL_CONTEXT), 12, 120);
    for (long i = 0; i < queries; i++)
        query(cache);
    drop(cache);
    __atomic_fetch_add(&shared->checksum, checksum, __ATOMIC_RELAXED);
    __atomic_fetch_add(&shared->blocks, made, __ATOMIC_RELAXED);
}

/* Start a session in a process of its own. If `done` and `go` are pipes, it says there that it is idle, and ends when `go` does. */
static pid_t start(long which, long queries, const int *done, const int *go)
{
    pid_t child = fork();
    if (child < 0)
        abort();
    if (child > 0)
        return child;
    char byte = 0;
    session(which, queries);
    if (is_stamped)
        stamps_leave();
    if (done != NULL) {
        close(go[1]);
        _exit(write(done[1], &byte, 1) != 1 || read(go[0], &byte, 1) != 0);
    }
    _exit(0);
}

static void wait_for_one(void)
{
    int status = 1;
    if (wait(&status) < 0 || status != 0)
        abort();
}

int main(int count, char **value)
{
    static void *setting[SETTINGS];
    pid_t idle[MOST_AT_ONCE];
    int done[2], go[2];
    char byte;
    read_arguments(count, value, 3, "usage: backends SESSIONS AT_ONCE QUERIES");
    long sessions = number(0, 1, 1 << 20), at_once = number(1, 1, MOST_AT_ONCE), queries = number(2, 1, 1 << 20);
    sessions = sessions > at_once ? sessions : at_once;
    shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (shared == MAP_FAILED || pipe(done) != 0 || pipe(go) != 0)
        abort();
    start_clock();
    random_state = (uint32_t)SEED;
    for (int i = 0; i < SETTINGS; i++) {
        setting[i] = allocate(16 + below(&random_state, 112));
        touch(setting[i], 16, (uint32_t)i);
    }
    for (long which = 0; which < sessions; which++) {
        if (which >= at_once)
            wait_for_one();
        long place = which - (sessions - at_once);
        pid_t child = start(which, queries, place < 0 ? NULL : done, go);
        if (place >= 0)
            idle[place] = child;
    }
    for (long i = 0; i < at_once; i++)
        if (read(done[0], &byte, 1) != 1)
            abort();
    settle(idle, at_once);
    close(go[1]);
    for (long i = 0; i < at_once; i++)
        wait_for_one();
    uint64_t sum = shared->checksum;
    for (int i = 0; i < SETTINGS; i++)
        sum += look(setting[i]);
    return report(sum, shared->blocks);
}
