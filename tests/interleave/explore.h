/* The explorer: every interleaving, and every value a relaxed load may return, of small cases over the real sources.
 *
 * The sources and the cases are compiled with -fsanitize=thread, so that the compiler turns each atomic operation and each
 * plain access into a call; hooks.c answers those calls instead of the sanitizer's library. A case's threads are coroutines
 * that stop before each atomic operation and futex call. explore.c searches all that can follow, depth first; a state met
 * before is not searched again. memory.c says what an operation may read and which plain accesses race.
 *
 * PROGRAM CASE explores what C11 allows without load buffering, PROGRAM CASE early what C11 and 64-bit Arm allow with it. */
#ifndef EXPLORE_H
#define EXPLORE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    THREADS = 3,
    WORDS = 64,   /* of shared memory, 8 bytes each: a bit each in a knowledge */
    ATOMICS = 8,  /* words that are used atomically */
    STORES = 16,  /* values of one such word that some thread may still read */
    YIELDS = 2,   /* rounds of a loop around sched_yield that a thread may make while others can go on */
    STACK_BYTES = 1536,
    TLS_BYTES = 128,
    OUTCOMES = 64,
    AHEAD = 6,         /* atomic operations that an early store may overtake, and one more */
    AHEAD_STORES = 16, /* that one thread may store early, as the next of its stores that do so */
};

/* One case. `setup` shares memory and gives it its first values; `always` looks at every state (in which no
 * store is early), `finished` at every end. */
struct explored {
    const char *name;
    int threads;
    int surprises;          /* how often each thread's futex wait may end without a wake */
    void (*setup)(void);
    void (*body)(int thread);
    void (*always)(void);   /* or NULL */
    uint64_t (*finished)(void); /* the outcome; or NULL */
};

extern const struct explored *const cases; /* one without a name ends them */

/* For setup: these bytes are what the threads share; all else that they may touch is their stack and thread-local. */
void share(const char *name, void *start, size_t bytes);
/* Ends the exploration with the way to here. */
void fail(const char *words) __attribute__((noreturn));
static inline void expect(bool holds, const char *words)
{
    if (!holds)
        fail(words);
}
/* A limit of the explorer: never passed over. */
void suffice(bool holds, const char *words);
/* For a case's thread: what its last atomic write to this word left there. */
uint64_t last_written(const uint64_t *word);
/* For a case's thread: the others are no more, as in the child of fork. */
void go_alone(void);
/* For `always`: atomic loads read as this thread may, its `view`-th choice; -1: the newest value. */
int views(int thread, const void *word, size_t bytes);
void look_as(int thread, int view);

#endif
