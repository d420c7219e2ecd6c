/* What one state of an exploration is: what the parts of the explorer offer each other. */
#ifndef WORLD_H
#define WORLD_H

#include "explore.h"

/* What happened before: the newest store of each atomic word that it forbids to read behind, and for each word whether the
 * last write, and each thread's last plain read of it, are part of it (one bit a word). */
struct knowledge {
    uint8_t seen[ATOMICS];
    uint64_t wrote;
    uint64_t read[THREADS];
};

/* One store to an atomic word, and what an acquire load of it brings. */
struct store {
    uint64_t value;
    struct knowledge brings;
};

struct memory {
    struct knowledge knows[THREADS];
    uint64_t stores[ATOMICS]; /* how many the history holds; 0: never used */
    struct store history[ATOMICS][STORES]; /* in modification order; those that no thread can read any more are dropped */
};

enum kind { LOAD, STORE, EXCHANGE, ADD, CAS_STRONG, CAS_WEAK, WAIT, ASLEEP, WOKEN, WAKE, ALONE, YIELD, READ, WRITE, DONE, FAILED };

/* What a thread is about to do. */
struct request {
    uint64_t kind;
    const void *address; /* FAILED: the words */
    uint64_t bytes;
    uint64_t value;    /* to write or add; after a compare-and-swap: it succeeded */
    uint64_t expected; /* compare-and-swap, WAIT */
    uint64_t order, failure_order;
    uint64_t result;
};

struct thread {
    void *top; /* of its stack, while it does not run */
    struct request request;
    uint64_t surprises;       /* waits that ended without a wake */
    uint64_t yields;          /* up to YIELDS */
    uint64_t written[ATOMICS]; /* last_written */
    uint8_t local[TLS_BYTES]; /* its thread-local variables */
};

struct world {
    struct memory memory;
    struct thread thread[THREADS];
    _Alignas(16) uint8_t stack[THREADS][STACK_BYTES];
};

extern struct world world;
extern int running; /* the thread that runs; -1: the explorer */
extern const struct explored *explored;

/* shared.c */
int word_of(const void *address); /* fails if it is not shared */
const char *name_of(const void *address, size_t *offset);
void save_shared(uint64_t to[WORDS]);
void restore_shared(const uint64_t from[WORDS]);

/* threads.c */
void threads_init(void);
void start_thread(int thread);
void ask(struct request request); /* stops the running thread until it is carried out */
bool is_private(const void *address); /* of the running thread's stack or thread-local variables */
int choices_of(int thread); /* how many ways its next step can go; 0: it cannot take one */
bool perform(int thread, int choice); /* the step itself; then, if true, the thread can go on */
void go_on(int thread); /* up to its next step */

/* explore.c */
uint64_t look(const void *address, uint64_t bytes); /* the explorer itself reads: see look_as */

/* memory.c */
void memory_init(void);
int memory_history(const void *address, uint64_t bytes); /* the number of the word's history */
int memory_choices(int thread, const struct request *request);
void memory_perform(int thread, struct request *request, int choice);
void memory_plain(int thread, const struct request *request);
void memory_leave(int thread); /* it has ended */
void memory_catch_up(int thread); /* it sees every newest store */
uint64_t memory_view(int thread, const void *address, uint64_t bytes, int view);

#endif
