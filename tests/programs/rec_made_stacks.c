/* The recorder's stacks.c: each stack has one number, and one record, through tables that grow, windows that fill up, code that
 * goes, and a system that refuses memory. Memory, windows and mappings of code are this program's. */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "1_base/spool/windows.h"
#include "image.h"
#include "modules.h"
#include "stacks.h"

enum { STACKS = 10000, DEEPEST = 5, MOST_WORDS = 3 * STACKS * (1 + DEEPEST) };

static struct image this_image;
struct image *image = &this_image;
static struct window one;
static uint64_t written[MOST_WORDS];
static unsigned yields, copies, opened, closed, covered, stale, refuses_maps, refuses_windows;
static size_t words, held, maps;

static void fails(const char *what)
{
    puts(what);
    exit(1);
}

static void *of_map(size_t bytes)
{
    if (refuses_maps)
        return MAP_FAILED;
    held += bytes;
    maps++;
    return mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
}

static int of_unmap(void *start, size_t bytes)
{
    held -= bytes;
    return munmap(start, bytes);
}

/* Another thread has the lock, and lets it go while this one yields. */
static long of_yield(void)
{
    yields++;
    return this_image.stack_lock = 0;
}

#define syscall(number) of_yield()
#define mmap(start, bytes, ...) of_map(bytes)
#define munmap of_unmap
#include "stacks.c"
#undef mmap
#undef munmap
#undef syscall

struct window *window_open(uint32_t stream)
{
    if (stream != STACK_STREAM || refuses_windows)
        return NULL;
    opened++;
    memset(&one, 0, sizeof one);
    return &one;
}

/* What is in a window: words up to the first record that is none. */
static void keep(void)
{
    for (uint64_t *at = one.slots[0]; at < window_end(&one) && *at != 0; at += 1 + (*at >> 8 & 0xff)) {
        memcpy(written + words, at, (1 + (*at >> 8 & 0xff)) * sizeof *at);
        words += 1 + (*at >> 8 & 0xff);
    }
    memset(&one, 0, sizeof one);
}

bool window_copy(struct window *full)
{
    if (full != &one || refuses_windows)
        return false;
    copies++;
    keep();
    return true;
}

void hs_window_close(struct window *window)
{
    if (window != &one)
        fails("no window is closed");
    closed++;
}

void modules_cover(const uint64_t *addresses, uint32_t count)
{
    covered += addresses != NULL && count > 0;
}

void modules_stale(void)
{
    stale++;
}

static uint64_t frames[STACKS][DEEPEST];
static const struct stack *stack[STACKS];

static uint32_t depth_of(unsigned number)
{
    return 1 + number % DEEPEST;
}

/* Stacks that differ in the last frame alone, and stacks that begin as another. */
static void draw(void)
{
    for (unsigned i = 0; i < STACKS; i++)
        for (unsigned frame = 0; frame < DEEPEST; frame++)
            frames[i][frame] = 0x400000 + 16 * frame + (frame + 1 == depth_of(i) ? 64 * (uint64_t)(i / DEEPEST) : 0);
}

static void ask_all(uint32_t first)
{
    for (unsigned i = 0; i < STACKS; i++) {
        stack[i] = stack_of(frames[i], depth_of(i));
        if (stack[i] == NULL || stack[i]->number != first + i || stack[i]->depth != depth_of(i))
            fails("a new stack has not the next number");
        if (memcmp(stack[i]->frames, frames[i], depth_of(i) * sizeof frames[i][0]) != 0)
            fails("a stack has other frames");
    }
    for (unsigned i = 0; i < STACKS; i++) {
        uint64_t same[DEEPEST + 1];
        memset(same, (int)i, sizeof same); /* what lies behind its frames is no part of it */
        memcpy(same, frames[i], depth_of(i) * sizeof same[0]);
        if (stack_of(same, depth_of(i)) != stack[i])
            fails("a stack that is known is not found");
    }
}

static void check_written(void)
{
    size_t at = 0;
    keep();
    for (uint64_t number = 1; number <= this_image.stacks; number++) {
        unsigned i = (unsigned)((number - 1) % STACKS);
        if (written[at] != (number << 32 | depth_of(i) << 8 | SPOOL_FRAMES))
            fails("a record begins with other numbers");
        if (memcmp(written + at + 1, frames[i], depth_of(i) * sizeof frames[i][0]) != 0)
            fails("a record has other frames");
        at += 1 + depth_of(i);
    }
    if (at != words)
        fails("there are other records");
}

static size_t taken_buckets(void)
{
    size_t taken = 0;
    for (uint64_t i = 0; i < bucket_count; i++)
        taken += buckets[i] != NULL;
    return taken;
}

int main(void)
{
    draw();
    stacks_reset();
    refuses_maps = 1;
    if (stack_of(frames[0], 1) != NULL)
        fails("a stack without memory");
    refuses_maps = 0;
    refuses_windows = 1;
    if (stack_of(frames[0], 1) != NULL)
        fails("a stack without a window");
    refuses_windows = 0;
    covered = 0;
    ask_all(1);
    printf("%u covered, %u copies, %zu KiB in %zu maps, %d buckets\n", covered, copies, held >> 10, maps, (int)bucket_count);
    printf("%s\n", taken_buckets() > STACKS * 6 / 10 ? "buckets are taken evenly" : "many stacks are in one bucket");
    const struct stack *before[STACKS];
    memcpy(before, stack, sizeof before);
    const size_t before_bytes = held;
    stale = 0;
    this_image.epoch++;
    ask_all(1 + STACKS);
    if (held != before_bytes || memcmp(before, stack, sizeof before) != 0)
        fails("what was unmapped takes memory for the same stacks again");
    printf("%u stale, %u covered, %u opened, %u closed\n", stale, covered, opened, closed);
    check_written();
    refuses_windows = 1;
    unsigned more = 0;
    for (uint64_t frame = 1; stack_of(&frame, 1) != NULL && more < WINDOW_SLOTS + 1; frame++)
        more++;
    printf("%u more in a window, %d in all\n", more, (int)this_image.stacks);
    refuses_windows = 0;
    refuses_maps = 1;
    uint64_t late = 1u << 20;
    for (more = 0; stack_of(&late, 1) != NULL && more < 1u << 16; late++)
        more++;
    printf("%u more without memory\n", more);
    refuses_maps = 0;
    this_image.stack_lock = 1;
    if (stack_of(frames[0], 1) != stack[0])
        fails("a stack that is known is not found behind the lock");
    printf("%u yield, lock %u\n", yields, this_image.stack_lock);
    stacks_reset();
    printf("%u closed, %u stale, lock %u\n", closed, stale, this_image.stack_lock);
    if (stack_of(frames[0], 1) == stack[0])
        fails("a stack of the parent");
    printf("%u opened\n", opened);
    const struct stack *kept = stack_kept(frames[1], depth_of(1));
    if (kept == NULL || kept->number != 0)
        fails("a stack that is only kept has a number");
    if (stack_of(frames[1], depth_of(1)) != kept || kept->number != this_image.stacks)
        fails("a stack that was only kept is not numbered");
    return 0;
}
