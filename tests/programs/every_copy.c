/* What the library says of a copy or a fill at every place of a block, in use and freed, and behind all blocks: to the byte. An
 * argument: the level of hardening. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <malloc.h>
#include <setjmp.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { GRAIN = 16, WORD = 8, PAGE = 4096, SLAB = 1 << 16, RUN = 100000, FAR = 16 * SLAB };

static const char BEYOND[] = "beyond the end of a block", NO_BLOCK[] = "of what is no block in use";

static const size_t asked[] = { 1, 8, 9, 24, 40, 49, 120, 129, 1000, 3000, RUN, 26 * PAGE - WORD + 1, 32 * PAGE };

static bool full, small;
static int heard;
static sigjmp_buf back;

static void go_back(int signal)
{
    siglongjmp(back, signal);
}

/* The call must end with those words (NULL: none). What stays within a block is copied over itself, so nothing changes. */
static void ends(const char *words, bool fills, char *at, size_t bytes)
{
    char wanted[200] = "", line[200] = "";
    if (words != NULL)
        snprintf(wanted, sizeof wanted, "heapsmith: copy or fill %s: 0x%016lx\n", words, (uintptr_t)at);
    if (sigsetjmp(back, 1) == 0) {
        if (fills)
            memset(at, 1, bytes);
        else
            memmove(at, at, bytes);
    }
    if (read(heard, line, sizeof line - 1) < 0)
        line[0] = '\0';
    if (strcmp(line, wanted) == 0)
        return;
    printf("%s of %zu bytes at %p: \"%s\", expected \"%s\"\n", fills ? "fill" : "copy", bytes, (void *)at, line, wanted);
    exit(1);
}

/* What lies in a grain of a small block. */
static bool is_passed(const char *at, size_t bytes)
{
    return !full && small && bytes <= GRAIN - (uintptr_t)at % GRAIN;
}

/* In use, `limit` bytes. */
static void in_use(char *block, size_t limit, size_t from)
{
    size_t rest = limit - from;
    size_t lengths[] = { 0, 1, WORD - 1, WORD, WORD + 1, GRAIN + 1, rest, rest + 1, rest + WORD, 2 * SLAB + limit, WORD - from };
    for (size_t index = 0; index < sizeof lengths / sizeof *lengths; index++) {
        size_t bytes = lengths[index];
        bool beyond = bytes > rest && (from > 0 || bytes > WORD) && !is_passed(block + from, bytes);
        ends(beyond ? BEYOND : NULL, false, block + from, bytes);
        if (beyond || bytes <= rest)
            ends(beyond ? BEYOND : NULL, true, block + from, bytes);
    }
}

static void not_in_use(char *at)
{
    const size_t lengths[] = { 0, 1, WORD, WORD + 1, GRAIN, GRAIN + 1, -WORD };
    for (size_t index = 0; index < sizeof lengths / sizeof *lengths; index++) {
        size_t bytes = lengths[index];
        bool looked_at = bytes > 0 && !is_passed(at, bytes);
        ends(looked_at ? NO_BLOCK : NULL, false, at, bytes);
        if (looked_at)
            ends(NO_BLOCK, true, at, bytes);
    }
}

static void at_every_place(size_t size)
{
    small = size < RUN;
    char *before = malloc(size), *block = malloc(size), *behind = malloc(size);
    size_t limit = full ? size : malloc_usable_size(block), step = limit / 40 + 1;
    for (size_t from = 0; from < limit; from += step)
        in_use(block, limit, from);
    for (size_t from = limit < 2 * GRAIN ? 0 : limit - 2 * GRAIN; from < limit + full; from++) {
        in_use(before, limit, from);
        in_use(block, limit, from);
        in_use(behind, limit, from);
    }
    free(block);
    for (size_t from = 0; from < (small ? size : PAGE); from += step)
        not_in_use(block + from);
    malloc_trim(0);
    not_in_use(block);
    char *last = before > behind ? before : behind;
    if (small)
        not_in_use((char *)((uintptr_t)last | (SLAB - 1)) - GRAIN); /* the slab's last bytes: no block, or none handed out */
    else
        ends(NO_BLOCK, true, last + (size + WORD * full + PAGE - 1) / PAGE * PAGE, 1); /* behind all runs */
    ends(NO_BLOCK, true, last + FAR, GRAIN + 1);
}

static bool moves(char *text)
{
    strcpy(text, "abcdefgh");
    return memmove(text + 2, text, 5) == text + 2 && memset(text, 'x', 2) == text && memcpy(text + 7, "z", 2) == text + 7 &&
           strcmp(text, "xxabcdez") == 0;
}

int main(int count, char **argument)
{
    int pipe[2];
    if (count < 2 || pipe2(pipe, O_NONBLOCK) != 0 || dup2(pipe[1], STDERR_FILENO) < 0)
        return 1;
    heard = pipe[0];
    full = strcmp(argument[1], "full") == 0;
    signal(SIGABRT, go_back);
    for (size_t index = 0; index < sizeof asked / sizeof *asked; index++)
        at_every_place(asked[index]);
    char *far;
    for (int runs = 0; runs < 700; runs++)
        far = malloc(RUN);
    ends(BEYOND, true, far, 2 * RUN);
    return moves(malloc(GRAIN)) && moves(far) ? 0 : 1;
}
