/* Hardening full notices every byte: of a freed block, behind the bytes that the program asked for, and before a block. Each
 * byte is changed in a process of its own, which must end by abort; the first that does not is printed. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

enum { PAIRS = 300, GRAIN = 16, TAIL = 8 };

static const int asked[] = { 1, 8, 9, 24, 40, 49, 56, 85, 120, 121, 137, 248, 1000, 3000 };

static char *volatile block;

static void after_free(int bytes, int at)
{
    free(block);
    block[at] ^= 1;
    for (int pair = 0; pair < PAIRS; pair++)
        free((void *volatile){ malloc((size_t)bytes) });
}

static void outside(int bytes, int at)
{
    (void)bytes;
    block[at] ^= 1;
    free(block);
}

static void is_noticed(void (*write)(int, int), int bytes, int at)
{
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) {
        close(STDERR_FILENO);
        char *first = malloc((size_t)bytes), *second = malloc((size_t)bytes);
        block = first > second ? first : second; /* not the first of its slab */
        write(bytes, at);
        _exit(0);
    }
    int status;
    waitpid(child, &status, 0);
    if (WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT)
        return;
    printf("%s, %d bytes: the byte at %d\n", write == outside ? "block in use" : "freed block", bytes, at);
    exit(1);
}

/* An argument: how many bytes of a freed block may hold the library's link. */
int main(int count, char **argument)
{
    int link = count > 1 ? atoi(argument[1]) : 0;
    for (size_t index = 0; index < sizeof asked / sizeof *asked; index++) {
        int bytes = asked[index], step = bytes / 150 + 1;
        int end = (bytes + TAIL + GRAIN - 1) / GRAIN * GRAIN; /* of its class where that has no longer blocks, else less */
        for (int at = link; at < bytes; at += step)
            is_noticed(after_free, bytes, at);
        for (int at = bytes; at < end; at++)
            is_noticed(outside, bytes, at);
        for (int at = -TAIL; at < 0; at++)
            is_noticed(outside, bytes, at);
    }
    return 0;
}
