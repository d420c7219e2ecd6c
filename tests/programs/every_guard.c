/* Huge blocks under hardening: their guards, and what is held back of freed ones, to the page. The first fault is printed. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

enum { PAGE = 4096, HUGE = 40 << 20, WIDE = 1 << 20, HELD = 64, RUN = 100000, DATA = 5 /* field of statm */ };

static const char *doing;
static volatile sig_atomic_t trying;
static sigjmp_buf back;

static void go_back(int number)
{
    if (trying)
        siglongjmp(back, 1);
    signal(number, SIG_DFL);
}

static void demand(bool holds, const char *what, ptrdiff_t number)
{
    if (holds)
        return;
    printf("%s: %s (%td)\n", doing, what, number);
    exit(1);
}

/* A field of /proc/self/statm, in bytes: by default the address space. */
static size_t bytes_of(int field)
{
    char line[200], *at = line;
    int file = open("/proc/self/statm", O_RDONLY);
    line[read(file, line, sizeof line - 1)] = '\0';
    close(file);
    for (; field > 0; field--)
        at = strchr(at, ' ') + 1;
    return strtoul(at, NULL, 10) * PAGE;
}

static size_t address_space(void)
{
    return bytes_of(0);
}

static void grown(size_t before, size_t by)
{
    size_t bytes = address_space() - before;
    demand(bytes == by, "address space has grown by pages", (ptrdiff_t)bytes / PAGE);
}

static bool is_mapped(const char *at)
{
    unsigned char resident;
    return mincore((void *)((uintptr_t)at & -PAGE), 1, &resident) == 0;
}

/* Addresses that are taken, and that nobody may read. */
static bool is_closed(volatile const char *at)
{
    if (!is_mapped((const char *)at))
        return false;
    trying = true;
    bool closed = sigsetjmp(back, 1) != 0 || (*at, false);
    trying = false;
    return closed;
}

static void guarded(char *block, size_t bytes, size_t guard)
{
    demand(block != NULL, "no block", (ptrdiff_t)bytes);
    char *end = block + (bytes + PAGE - 1) / PAGE * PAGE;
    for (char *at = block - guard; at < block; at += guard / 4)
        demand(is_closed(at), "open before the block", block - at);
    for (char *at = end; at < end + guard; at += guard / 4)
        demand(is_closed(at), "open behind the block", at - end);
    demand(is_closed(block - 1) && is_closed(end + guard - 1), "open at an end of a guard", (ptrdiff_t)bytes);
    if (bytes > 0)
        block[0] = block[bytes - 1] = 1;
}

/* A block with guards, and nothing else, comes into the address space. */
static char *got(size_t bytes, size_t alignment, size_t guard)
{
    size_t before = address_space();
    char *block = alignment > 0 ? aligned_alloc(alignment, bytes) : malloc(bytes);
    grown(before, (bytes + PAGE - 1) / PAGE * PAGE + 2 * guard);
    demand(alignment == 0 || (uintptr_t)block % alignment == 0, "not aligned", (ptrdiff_t)alignment);
    guarded(block, bytes, guard);
    return block;
}

/* `bytes` of address space go when it is freed: those of an older block if it is held back itself. */
static void freed(char *block, size_t bytes)
{
    size_t before = address_space();
    free(block);
    grown(before, -bytes);
}

/* A block of 2^20 pages is not held back; one of a page less is. 0: the system has not so much memory. */
static size_t just_held;

static void at_the_most(void)
{
    doing = "4 GiB";
    size_t most = (size_t)1 << 32;
    char *block = malloc(most);
    just_held = block != NULL ? most - PAGE : 0;
    if (block != NULL)
        freed(block, most + 2 * WIDE);
}

/* The lengths differ, so that it shows which block goes. Some have no bytes, some are a page long, some are aligned. */
static size_t length(int number)
{
    size_t special[] = { 0, PAGE, just_held };
    return number % 8 < 2 || number == 2 ? special[number % 8] : (size_t)HUGE + (size_t)number * PAGE;
}

static size_t alignment(int number)
{
    return number % 8 == 1 ? 2 * PAGE : number % 3 == 0 ? (size_t)PAGE << number % 15 : 0;
}

static void frees(int blocks)
{
    doing = "freed blocks";
    static char *start[3 * HELD];
    for (int number = 0; number < blocks; number++) {
        start[number] = got(length(number), alignment(number), WIDE);
        int gone = number - HELD;
        freed(start[number], gone < 0 ? 0 : length(gone) + 2 * WIDE);
        demand(is_closed(start[number] - WIDE) && is_closed(start[number]), "a freed block is open", number);
        demand(gone < 0 || !is_mapped(start[gone]), "a block is held back for too long", gone);
    }
}

/* From now on all that are held back are alike. */
static void frees_alike(char **start)
{
    for (int number = 0; number < HELD; number++)
        free(start[number] = malloc(HUGE));
}

static char *resized(char *block, size_t from, size_t to, size_t old_guard, size_t guard)
{
    static size_t room; /* of the block that was resized last: a quarter behind one that grew, where nothing counts it */
    size_t before = address_space(), old_room = room;
    memset(block, 'a', PAGE);
    char *moved = realloc(block, to);
    room = to > from && guard == WIDE ? to / PAGE / 4 * PAGE : 0;
    grown(before, to + room - from - old_room + 2 * guard - 2 * old_guard);
    demand(moved[0] == 'a' && moved[PAGE - 1] == 'a', "lost", 0);
    guarded(moved, to, guard);
    for (char *at = block - old_guard; at < block + from + old_guard; at += PAGE)
        demand(!is_mapped(at), "address space stays", at - block);
    return moved;
}

static void a_block_moves(void)
{
    doing = "resized";
    char *block = got(HUGE, 0, WIDE);
    block = resized(block, HUGE, 2 * HUGE, WIDE, WIDE);
    block = resized(block, 2 * HUGE, HUGE + PAGE, WIDE, WIDE);
    freed(block, HUGE + 2 * WIDE);
}

static void limit(int resource, size_t most)
{
    struct rlimit now;
    getrlimit(resource, &now);
    now.rlim_cur = most;
    demand(setrlimit(resource, &now) == 0, "no limit", (ptrdiff_t)most);
}

static void is_refused(const void *block, size_t before)
{
    demand(block == NULL && errno == ENOMEM, "not refused", 0);
    grown(before, 0);
}

/* The system refuses to open a mapping, or to lengthen it. If runs that are free leave enough, they go. */
static void under_a_limit_on_data(void)
{
    doing = "limit on data";
    enum { RUNS = 2 * HUGE / RUN };
    static void *run[RUNS];
    for (int index = 0; index < RUNS; index++)
        run[index] = malloc(RUN);
    for (int index = 0; index < RUNS; index++)
        free(run[index]);
    limit(RLIMIT_DATA, bytes_of(DATA) + HUGE / 2);
    char *block = got(HUGE, 0, WIDE);
    limit(RLIMIT_DATA, bytes_of(DATA) + HUGE / 2);
    size_t more = (size_t)64 * HUGE, before = address_space();
    block[0] = 'a';
    is_refused(malloc(more), before);
    is_refused(realloc(block, more), before);
    demand(block[0] == 'a', "lost", 0);
    limit(RLIMIT_DATA, RLIM_INFINITY);
    freed(block, HUGE + 2 * WIDE);
}

/* In a child. A limit above all that is there: what was held back goes, and goes on being counted. */
static void under_a_wide_limit(void)
{
    doing = "wide limit on address space";
    char *block = got(HUGE, 0, WIDE), *start = got(0, 0, WIDE), *other = got(HUGE, 0, WIDE);
    freed(start, 0);
    freed(block, 0);
    limit(RLIMIT_AS, address_space() + HUGE / 2);
    is_refused(malloc(HUGE), address_space());
    demand(!is_mapped(start) && !is_mapped(block), "what was held back stays", 0);
    other[0] = 'a';
    is_refused(realloc(other, 2 * HUGE), address_space());
    demand(other[0] == 'a', "lost", 0);
}

/* The limit comes, goes, and comes: guards have the width of their time, and nothing is held back. */
static void under_a_limit_on_address_space(void)
{
    doing = "limit on address space";
    char *wide = got(HUGE, 0, WIDE), *other = got(HUGE, 0, WIDE);
    limit(RLIMIT_AS, address_space() + ((size_t)1 << 30));
    char *narrow = got(HUGE, 0, PAGE), *left = got(HUGE, 4 << 20, PAGE), *grows = got(HUGE, 0, PAGE);
    freed(wide, HUGE + 2 * WIDE);
    freed(narrow, HUGE + 2 * PAGE);
    other = resized(other, HUGE, 2 * HUGE, WIDE, PAGE);
    freed(other, 2 * HUGE + 2 * PAGE);
    limit(RLIMIT_AS, RLIM_INFINITY);
    freed(left, HUGE + 2 * PAGE);
    grows = resized(grows, HUGE, 2 * HUGE, PAGE, WIDE);
    freed(grows, HUGE + 2 * WIDE);
    wide = got(HUGE, 0, WIDE);
    char *start[HELD];
    frees_alike(start);
    limit(RLIMIT_AS, 10 * (size_t)HUGE); /* less than is held back */
    narrow = malloc(HUGE);
    demand(narrow != NULL, "no block", 0);
    for (int number = 0; number < HELD; number++)
        demand(!is_closed(start[number]), "what was held back stays", number);
    limit(RLIMIT_AS, RLIM_INFINITY);
    doing = "after a limit on address space";
    freed(wide, HUGE + 2 * WIDE);
    freed(narrow, HUGE + 2 * PAGE);
    freed(got(HUGE, 0, PAGE), HUGE + 2 * PAGE);
}

int main(void)
{
    signal(SIGSEGV, go_back);
    at_the_most();
    if (fork() == 0) {
        under_a_wide_limit();
        return 0;
    }
    int status;
    if (wait(&status) < 0 || status != 0)
        return 1;
    frees(3 * HELD);
    frees_alike((char *[HELD]){ NULL });
    a_block_moves();
    under_a_limit_on_data();
    under_a_limit_on_address_space();
    return 0;
}
