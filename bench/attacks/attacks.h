/* How small attacks run: each in a child of its own, of which a line says how it ended; and the shortest of them.
 *
 * "stopped": a signal ended it; "foiled": it went on, and the attack had no effect; "hit": the attack went through. With reports
 * the line comes behind what the malloc said of the attack on standard error. */
#pragma once

#include <alloca.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { HIT, FOILED };

/* The compiler sees neither what is allocated nor what is done to it. */
template <typename T> static T *hidden(T *block)
{
    __asm__ volatile("" : "+r"(block) : : "memory");
    return block;
}

static char *get(size_t bytes)
{
    return hidden((char *)malloc(bytes));
}

/* The shortest attacks. */

static int double_free(size_t bytes)
{
    char *block = get(bytes);
    free(block);
    free(hidden(block));
    return HIT;
}

static int double_free_interleaved(size_t bytes)
{
    char *block = get(bytes), *other = get(bytes);
    free(block);
    free(other);
    free(hidden(block));
    return HIT;
}

static int double_free_reused(size_t bytes)
{
    char *block = get(bytes);
    free(block);
    char *other = get(bytes);
    free(hidden(block));
    free(other);
    return HIT;
}

static int free_alloca(size_t bytes)
{
    free(hidden((char *)alloca(bytes)));
    return HIT;
}

static int run_on_the_heap(size_t bytes)
{
    char *block = get(bytes);
    memcpy(block, "\xc3", 1); /* ret */
    hidden((void (*)())block)();
    return HIT;
}

struct kind {
    const char *name;
    int (*attack)(size_t bytes);
};

struct size {
    const char *name;
    size_t bytes;
};

/* What the child would print comes after the attack, as in a program that goes on: stdio takes its buffer then. */
static const char *outcome_of(int (*attack)(size_t bytes), size_t bytes, bool reports)
{
    pid_t child = fork();
    if (child == 0) {
        int nowhere = open("/dev/null", O_WRONLY);
        dup2(nowhere, STDOUT_FILENO);
        if (!reports)
            dup2(nowhere, STDERR_FILENO);
        int outcome = attack(bytes);
        puts("went on");
        fflush(stdout);
        _exit(outcome);
    }
    int status;
    if (child < 0 || waitpid(child, &status, 0) != child)
        _exit(2);
    return WIFSIGNALED(status) ? "stopped" : WEXITSTATUS(status) == FOILED ? "foiled" : "hit";
}

template <size_t kinds, size_t sizes> static void run(const kind (&kind)[kinds], const size (&size)[sizes], bool reports)
{
    for (const auto &each : kind)
        for (const auto &of : size)
            dprintf(STDOUT_FILENO, "%s %s %s\n", each.name, of.name, outcome_of(each.attack, of.bytes, reports));
}
