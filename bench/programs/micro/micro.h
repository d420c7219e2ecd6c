/* Shared by the benchmark programs: arguments, dry runs, touching of blocks, random draws,
 * sizes, clock and report.
 *
 * The arguments alone decide a program's work. It prints a checksum of the words that it read
 * from its blocks on stdout (the same under every correct malloc), and its times on stderr. With
 * -DDRY=1 a program runs the same loop on one static buffer without calls of malloc or free; its
 * checksum means nothing. With -DSTAMP=1 it stamps its calls (stamps.h). The programs' own tables come from mmap(2), never from the malloc
 * under test. SEED is the start of the random draws. */
#pragma once
#include "stamps.h"
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

enum { PAGE = 4096, SIZES = 1024, SCRATCH_BYTES = 8 << 20, is_dry = DRY, is_stamped = STAMP, IS_UNIFORM = -1 };

extern char scratch[SCRATCH_BYTES];

/* Comes first, with main's arguments: the program takes at least `least`; `use` is its message for
 * wrong ones. Returns how many there are without the program's name. */
int read_arguments(int count, char **value, int least, const char *use);

/* The argument of that index, a number in these bounds. */
long number(int index, long least, long most);

/* `count` zeroed pointers. */
void **pointers(size_t count);

/* SIZES quantiles of a distribution of sizes from the argument `least` to the next one, in bytes.
 * The argument `shape` says `uniform` (as IS_UNIFORM does without one) or `skewed`, a power law:
 * P(size > s) falls as 1/s (a bounded Pareto distribution of exponent 1). */
void fill_sizes(uint32_t *sizes, int least, int shape);

/* Run `thread` on each of `count` items of `item_bytes`, all but one in new threads. */
void on_threads(void *(*thread)(void *), void *items, size_t item_bytes, long count);

void start_clock(void);

/* The work is done and all blocks are freed: the clock of wall time stops. A quiet second later the resident bytes of this
 * process and of `count` others join the report. A stamped or dry program does not wait. */
void settle(const int *processes, long count);

/* Print the checksum on stdout, and operations, wall and CPU time since start_clock() as JSON on
 * stderr, with what settle() found and with the stamps. Returns main's value. */
int report(uint64_t checksum, uint64_t operations);

/* Marsaglia, "Xorshift RNGs", Journal of Statistical Software 8(14), 2003; `state` is never 0. */
static inline uint32_t draw(uint32_t *state)
{
    uint32_t x = *state;
    x ^= x << 13;
    x ^= x >> 17;
    x ^= x << 5;
    return *state = x;
}

static inline uint32_t below(uint32_t *state, uint32_t bound)
{
    return (uint32_t)((uint64_t)draw(state) * bound >> 32);
}

/* Hides from the compiler where a block comes from. */
static inline void *hidden(void *block)
{
    __asm__ volatile("" : "+r"(block) : : "memory");
    return block;
}

/* Every block that comes from here is written by touch() or touch_ends() next. */
static inline void *allocate(size_t bytes)
{
    if (is_stamped)
        stamp_begin(&stamps_of_thread()->allocate);
    return hidden(is_dry ? scratch : malloc(bytes));
}

static inline void release(void *block)
{
    if (is_stamped && block != NULL) {
        stamp_begin(&stamps_of_thread()->release);
        free(block);
        stamp_end(&stamps_of_thread()->release);
    } else if (!is_dry) {
        free(block);
    }
}

/* Write like a program: the first word, a word of each further page, the last byte. bytes >= 8. */
static inline void touch(void *block, size_t bytes, uint32_t value)
{
    for (size_t at = 0; at < bytes - 4; at += PAGE)
        *(uint32_t *)((char *)block + at) = value;
    ((char *)block)[bytes - 1] = (char)value;
    if (is_stamped)
        stamp_end(&stamps_of_thread()->allocate);
}

/* Write the first word and the last byte alone. bytes >= 8. */
static inline void touch_ends(void *block, size_t bytes, uint32_t value)
{
    *(uint32_t *)block = value;
    ((char *)block)[bytes - 1] = (char)value;
    if (is_stamped)
        stamp_end(&stamps_of_thread()->allocate);
}

/* What touch() or touch_ends() wrote to the first word. */
static inline uint32_t look(const void *block)
{
    return *(const uint32_t *)block;
}
