/* The conformance driver: what its parts share. Its own malloc is the system's; the library under test is only called. */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* One record on standard input: an event of a trace (docs/trace.md), or with op BATCH the head of `bytes` events, or
 * with op RESET the end of this trace and the begin of another, in `bytes` of each span. */
struct event {
    uint8_t op;
    uint8_t align_log2;
    uint16_t group; /* of call sites */
    uint32_t thread;
    uint32_t block;
    uint32_t processor;
    int64_t bytes;
    int64_t time_ms;
};

_Static_assert(sizeof(struct event) == 32, "the record that codegen/driver.py writes");

enum { MALLOC, CALLOC, REALLOC, ALIGNED, FREE, FREE_SIZED, THREAD_START, THREAD_EXIT, RESET = 254, BATCH = 255 };

/* struct mallinfo2 of glibc. */
struct figures {
    size_t arena, ordblks, smblks, hblks, hblkhd, usmblks, fsmblks, uordblks, fordblks, keepcost;
};

/* Functions of the library under test. */
struct library {
    void *(*malloc)(size_t bytes);
    void *(*calloc)(size_t count, size_t bytes);
    void *(*realloc)(void *block, size_t bytes);
    void *(*reallocarray)(void *block, size_t count, size_t bytes);
    void *(*aligned_alloc)(size_t alignment, size_t bytes);
    void *(*memalign)(size_t alignment, size_t bytes);
    int (*posix_memalign)(void **block, size_t alignment, size_t bytes);
    void *(*valloc)(size_t bytes);
    void *(*pvalloc)(size_t bytes);
    void (*free)(void *block);
    void (*cfree)(void *block);
    void (*free_sized)(void *block, size_t bytes);
    void (*free_aligned_sized)(void *block, size_t alignment, size_t bytes);
    size_t (*malloc_usable_size)(void *block);
    struct figures (*mallinfo2)(void);
    size_t (*counter_count)(void);
    void (*counters)(uint64_t *counters);
    int64_t (*locate)(const void *block);
    void (*check)(void);
    void (*reset)(size_t span_bytes);
};

extern struct library library;
extern bool no_strangers; /* a block of another malloc would break the library, or end it */
extern size_t grain; /* every block begins at a multiple of it, and of 16 if 16 bytes or more were asked for */

/* Of the first call of the library's that the system refused for want of memory; 0: it refused none. */
extern size_t refused_bytes;

/* What is done from now on, for whoever finds that neither events nor `steps` go on; NULL: events. */
void begin_phase(const char *what);
extern _Atomic uint64_t steps;

/* Says what the system lacks, and ends the process with status 3. */
void lack(const char *format, ...) __attribute__((noreturn, format(printf, 1, 2)));

/* Says what is wrong at the event being performed, and ends the process with status 1. */
void fail(const char *format, ...) __attribute__((noreturn, format(printf, 1, 2)));

/* The table with room for more than `most` items, the new ones zero. Ends the process with status 3 without memory. */
void *widened(void *table, size_t *room, size_t most, size_t item_bytes);

/* A function of the library's that takes up to two arguments, pointers or sizes, and returns a block. */
typedef void *called(size_t first, size_t second);
typedef void function(void); /* any: compilers warn of a cast between two others */

/* callers.c: calls the function from the call site of a group, 0 to 15; group 0 has no site. */
void *call_from(unsigned group, function *any, size_t first, size_t second);

/* Tells the library that calls which return there are of the group; NULL: it has no groups. */
extern void (*tell_site)(const void *caller, unsigned group);

/* perform.c: one event; the address code of the block it allocated or resized, else -1. */
int64_t perform(const struct event *event);

/* perform.c: no block is live. */
void forget_blocks(void);

/* facts.c: what the page does not say but C17, C23 and POSIX.1-2024 do. */
void facts(void);

/* storm.c: many threads at once. */
void together(bool threads_own_heaps);
