/* Hardening full notices every byte that is changed: of a freed block (in a process of its own, which must end by abort), behind
 * the bytes that the program asked for, and before a block. The first that is not noticed is printed. */
#include <malloc.h>
#include <setjmp.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { PAIRS = 300, GRAIN = 16, STEPS = 8, TAIL = 8, FILLED = 64, SHORT = 128, LONG = 1040, CONTENT = 0x5A, SLAB = 1 << 16 };

static const int asked[] = { 1, 8, 9, 24, 40, 49, 56, 64, 72, 85, 120, 121, 136, 137, 248, 1000, 3000 };

static int header; /* bytes of one before each block */
static char *volatile block;
static sigjmp_buf back;

static void go_back(int signal)
{
    siglongjmp(back, signal);
}

static void fail(const char *what, int bytes, int at)
{
    printf("%s, %d bytes: the byte at %d\n", what, bytes, at);
    exit(1);
}

static void is_noticed_later(int bytes, int at)
{
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) {
        block = malloc((size_t)bytes);
        free(block);
        block[at] ^= 1;
        for (int pair = 0; pair < PAIRS; pair++)
            free((void *volatile){ malloc((size_t)bytes) });
        _exit(0);
    }
    int status;
    waitpid(child, &status, 0);
    if (!WIFSIGNALED(status) || WTERMSIG(status) != SIGABRT)
        fail("freed block", bytes, at);
}

/* By free, before it changes anything. */
static void are_noticed(int bytes, int from, int to)
{
    for (int at = from; at < to; at++)
        for (int bits = 1; bits < 256; bits *= 255) {
            block[at] ^= (char)bits;
            if (sigsetjmp(back, 1) == 0) {
                free(block);
                fail("block in use", bytes, at);
            }
            block[at] ^= (char)bits;
        }
}

/* It is zero when the program gets it again. */
static void is_cleared(int bytes)
{
    memset(block, CONTENT, (size_t)bytes);
    free(block);
    if (sigsetjmp(back, 1) != 0)
        fail("cleared block", bytes, 0);
    for (int pair = 0; pair < PAIRS; pair++)
        free((void *volatile){ malloc((size_t)bytes) });
}

/* A block of `stride` bytes. The first of a slab has no tail before it. */
static void around(int bytes, int stride)
{
    int usable = stride - TAIL - header, slack = usable - bytes;
    static char before[TAIL];
    if (malloc_usable_size(block) != (size_t)bytes)
        fail("usable size", bytes, bytes);
    if (block[usable] % 2 == 0) /* it may be 0, as the end of a string is */
        fail("even canary", bytes, usable);
    if (memcmp(block + usable, before, TAIL) == 0)
        fail("canary of another block", bytes, usable);
    memcpy(before, block + usable, TAIL);
    if (header == 0 && (uintptr_t)block % SLAB != 0)
        are_noticed(bytes, -TAIL, 0);
    are_noticed(bytes, bytes, bytes + (slack < FILLED ? slack : FILLED));
    are_noticed(bytes, usable, usable + TAIL);
    is_cleared(bytes);
}

/* A longer block is cut to these bytes, which stay. */
static void cut(int bytes)
{
    size_t whole = (size_t)(LONG - TAIL - header);
    block = realloc(memset(malloc(whole), CONTENT, whole), (size_t)bytes);
    for (int at = 0; at < bytes; at++)
        if (block[at] != CONTENT)
            fail("block that was cut", bytes, at);
    around(bytes, LONG);
}

/* Arguments: how many bytes of a freed block may hold the library's link, and how many a header has. */
int main(int count, char **argument)
{
    close(STDERR_FILENO);
    int link = count > 1 ? atoi(argument[1]) : 0, over = TAIL + (header = count > 2 ? atoi(argument[2]) : 0);
    for (size_t index = 0; index < sizeof asked / sizeof *asked; index++)
        for (int at = link; at < asked[index]; at += asked[index] / 150 + 1)
            is_noticed_later(asked[index], at);
    signal(SIGABRT, go_back);
    for (int bytes = 1; bytes <= SHORT - over; bytes++) {
        block = malloc((size_t)bytes);
        around(bytes, (bytes + over + GRAIN - 1) / GRAIN * GRAIN);
    }
    for (int alignment = 2 * GRAIN; header == 0 && alignment <= SHORT; alignment *= 2)
        for (int bytes = 1; bytes <= alignment - TAIL; bytes++) {
            block = aligned_alloc((size_t)alignment, (size_t)bytes);
            around(bytes, alignment);
        }
    for (int bytes = LONG - LONG / STEPS - over + 1; bytes <= LONG - over; bytes++)
        cut(bytes);
    return 0;
}
