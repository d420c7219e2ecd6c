/* Huge blocks under hardening whose move the system refuses, with or without an unmapped place for them, which may be another
 * mapping's by then; and a limit that is noticed just when a freed block is held back. The first fault is printed. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { PAGE = 4096, HUGE = 40 << 20, WIDE = 1 << 20 };
enum how { NOT, BY_SYSTEM, STAYS, STAYS_BEFORE_A_HOLE, GONE, TAKEN, TAKEN_BEHIND, TAKEN_CLOSED };
static const char *const name[] = { "", "by the system", "stays", "stays before a hole", "gone", "taken", "taken behind", "taken, closed" };

/* Not static: realloc and free change these here, of which the C library's headers say that they call nothing of this file. */
enum how refused; /* the next move */
bool no_more;     /* no mapping is granted */
char *place, *taken, *taken_end;
size_t place_bytes;
void (*before_closing)(void); /* called when the next pages become address space only */

static void demand(bool holds, const char *what, ptrdiff_t number)
{
    if (holds)
        return;
    printf("%s (%td)\n", what, number);
    exit(1);
}

static void *system_map(void *start, size_t bytes, int protection, int flags)
{
    return (void *)syscall(SYS_mmap, start, bytes, protection, flags | MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
}

void *mmap(void *start, size_t bytes, int protection, int flags, int file, off_t offset)
{
    if (no_more) {
        errno = ENOMEM;
        return MAP_FAILED;
    }
    void (*first)(void) = before_closing;
    if (first != NULL && protection == PROT_NONE && (flags & MAP_FIXED) != 0) {
        before_closing = NULL;
        first();
    }
    if (refused != STAYS_BEFORE_A_HOLE || start != NULL || bytes < HUGE)
        return (void *)syscall(SYS_mmap, start, bytes, protection, flags, file, offset);
    char *longer = (char *)syscall(SYS_mmap, start, bytes + PAGE, protection, flags, file, offset);
    munmap(longer + bytes, PAGE);
    return longer;
}

static void take(char *start, size_t bytes, int protection)
{
    taken = start;
    taken_end = start + bytes;
    demand(system_map(start, bytes, protection, MAP_FIXED_NOREPLACE) == start, "the place is not free", 0);
    if (protection != PROT_NONE)
        *taken = taken_end[-1] = 'b';
}

/* Linux unmaps the place, then what a shorter block lacks, and only then may refuse. */
static void refuse(char *start, size_t old_bytes, size_t new_bytes)
{
    if (refused == STAYS || refused == STAYS_BEFORE_A_HOLE)
        return;
    munmap(place, new_bytes);
    if (old_bytes > new_bytes)
        munmap(start + new_bytes, old_bytes - new_bytes);
    if (refused == TAKEN || refused == TAKEN_CLOSED)
        take(place, new_bytes, refused == TAKEN ? PROT_READ | PROT_WRITE : PROT_NONE);
    if (refused == TAKEN_BEHIND)
        take(place + new_bytes - PAGE, PAGE, PROT_READ | PROT_WRITE);
}

void *mremap(void *start, size_t old_bytes, size_t new_bytes, int flags, ...)
{
    __builtin_va_list rest;
    __builtin_va_start(rest, flags);
    char *target = (flags & MREMAP_FIXED) != 0 ? __builtin_va_arg(rest, char *) : NULL;
    __builtin_va_end(rest);
    if (target == NULL || refused == NOT)
        return (void *)syscall(SYS_mremap, start, old_bytes, new_bytes, flags, target);
    place = target;
    place_bytes = new_bytes;
    no_more = true;
    if (refused == BY_SYSTEM)
        return (void *)syscall(SYS_mremap, start, old_bytes, new_bytes, flags, target);
    refuse(start, old_bytes, new_bytes);
    errno = ENOMEM;
    return MAP_FAILED;
}

static bool is_mapped(const char *at)
{
    unsigned char resident;
    return mincore((void *)at, 1, &resident) == 0;
}

static void only_taken_is_mapped(const char *start, const char *end)
{
    for (const char *at = start; at < end; at += PAGE)
        demand(is_mapped(at) == (at >= taken && at < taken_end), name[refused], (at - place) / PAGE);
}

/* The block stays whole; of its new place and the guards there nothing stays, and nothing goes that is another's. */
static void refused_from(size_t old_bytes, size_t bytes, enum how how)
{
    char *block = malloc(old_bytes);
    block[0] = block[old_bytes - 1] = 'a';
    refused = how;
    taken = taken_end = NULL;
    if (how == BY_SYSTEM) /* it moves no mappings that differ, and resizes */
        mprotect(block + PAGE, PAGE, PROT_READ);
    demand(realloc(block, bytes) == NULL && errno == ENOMEM && no_more, "not refused", (ptrdiff_t)how);
    demand(block[0] == 'a' && block[old_bytes - 1] == 'a', "lost", (ptrdiff_t)how);
    only_taken_is_mapped(place - WIDE, place + place_bytes + WIDE + (how == STAYS_BEFORE_A_HOLE ? PAGE : 0));
    if (taken != NULL) {
        demand(how == TAKEN_CLOSED || (*taken == 'b' && taken_end[-1] == 'b'), "written to", (ptrdiff_t)how);
        munmap(taken, (size_t)(taken_end - taken));
    }
    no_more = false;
    refused = NOT;
    mprotect(block + PAGE, PAGE, PROT_READ | PROT_WRITE);
    block = realloc(block, bytes);
    demand(block != NULL && block[0] == 'a', "lost at last", (ptrdiff_t)how);
    free(block);
}

/* As another thread may at that moment: it gets no memory, so that the library looks whether there is a limit. */
static void is_limited(void)
{
    char line[200];
    int file = open("/proc/self/statm", O_RDONLY);
    line[read(file, line, sizeof line - 1)] = '\0';
    close(file);
    size_t most = strtoul(line, NULL, 10) * PAGE + HUGE / 2;
    setrlimit(RLIMIT_AS, &(struct rlimit){ most, RLIM_INFINITY });
    demand(malloc(HUGE) == NULL, "no limit", 0);
}

int main(void)
{
    for (enum how how = BY_SYSTEM; how <= TAKEN_CLOSED; how++)
        refused_from(HUGE, 2 * HUGE, how);
    for (enum how how = STAYS; how <= TAKEN_CLOSED; how++)
        refused_from(2 * HUGE, HUGE, how);
    char *block = malloc(HUGE);
    before_closing = is_limited;
    free(block);
    demand(before_closing == NULL, "not held back", 0);
    taken = taken_end = NULL;
    only_taken_is_mapped(block - WIDE, block + HUGE + WIDE);
    return 0;
}
