/* One block of the program: born, looked at, resized, dead; each step checks what the malloc family promises. */
#ifndef STRESS_PIECE_H
#define STRESS_PIECE_H

#include <stddef.h>
#include <stdint.h>

struct piece {
    unsigned char *start; /* NULL: there is none */
    size_t bytes;         /* asked for */
    size_t usable;        /* said by malloc_usable_size, written to its end */
    size_t alignment;     /* asked for; 0 if it was not */
    uint64_t seed;        /* of its contents */
    uint64_t life;        /* of the thread that bore it */
};

/* The functions a block can come from. */
enum source {
    BY_MALLOC,
    BY_CALLOC,
    BY_REALLOC,
    BY_REALLOCARRAY,
    BY_ALIGNED_ALLOC,
    BY_POSIX_MEMALIGN,
    BY_STRDUP,
    SOURCES,
};

/* Which check failed is said with these; each thread has its own. */
struct where {
    uint64_t seed;
    unsigned thread;
    uint64_t operation;
};
extern __thread struct where where;

/* Least alignment of a block of 16 bytes or more; set before the first birth. */
extern size_t least_alignment;

/* One line on standard error: where, and what; exits with status 1. */
void fail(const char *format, ...) __attribute__((noreturn, format(printf, 1, 2)));

/* A block of `bytes` bytes, its contents drawn from the seed; alignment, a power of two, for sources that have one. */
struct piece bear(enum source source, size_t bytes, size_t alignment, uint64_t seed);

/* realloc, or reallocarray if the seed is odd, to bytes > 0; 1 if the block moved. */
int resize(struct piece *piece, size_t bytes, uint64_t seed);

/* Checks the contents and frees by free, or by the sized function that fits if the seed says so. */
void die(struct piece *piece, uint64_t seed);

#endif
