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
    uint64_t modifies; /* of a read-modify-write: no other store comes between it and the one that it read */
    struct knowledge brings;
};

/* A store that others may read before its thread has come to it. */
struct early {
    uint64_t made; /* 0: there is none */
    uint64_t number; /* of the history */
    uint64_t index;
};

struct memory {
    struct knowledge knows[THREADS];
    uint64_t stores[ATOMICS]; /* how many the history holds; 0: never used */
    uint8_t fenced[ATOMICS]; /* the newest stores that threads had seen at their fences */
    struct store history[ATOMICS][STORES]; /* in modification order; those that no thread can read any more are dropped */
};

enum kind { LOAD, STORE, EXCHANGE, ADD, CAS_STRONG, CAS_WEAK, FENCE, WAIT, ASLEEP, WOKEN, WAKE, ALONE, YIELD, EARLY, READ, WRITE, DONE, FAILED };

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
    struct early early;
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
extern bool is_early; /* stores may be seen early, and come between older ones */

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
bool try_step(int thread, int choice); /* perform and go_on; false where that is a mistake, which it does not report */

/* early.c */
struct store_ahead {
    const void *address;
    uint64_t bytes, value, modifies;
};
int stores_ahead(int thread, struct store_ahead list[AHEAD_STORES]); /* what it may store early, alone; their number */
bool any_early(void); /* is there a store to which its thread has yet to come? */
bool comes(int thread); /* can it, alone, come to the store that others may have seen already? */

/* memory.c */
void memory_init(void);
int memory_history(const void *address, uint64_t bytes); /* the number of the word's history */
uint64_t newest_of(const void *address, uint64_t bytes);
int memory_choices(int thread, const struct request *request);
void memory_perform(int thread, struct request *request, int choice);
int memory_places(int thread, int number, uint64_t places[STORES]); /* where a store of the thread may stand; their number */
bool memory_store_early(int thread, const struct store_ahead *store, uint64_t place);
void memory_fence(int thread); /* of seq_cst */
void memory_plain(int thread, const struct request *request);
void memory_leave(int thread); /* it has ended */
void memory_catch_up(int thread); /* it sees every newest store */
uint64_t memory_view(int thread, const void *address, uint64_t bytes, int view);

#endif
