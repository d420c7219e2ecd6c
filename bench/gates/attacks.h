/* What the programs of small attacks share: each attack runs in a child of its own, and a line says how the child ended.
 *
 * "stopped": a signal ended it; "foiled": it went on, and the attack had no effect; "hit": the attack went through. */
#pragma once

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

struct kind {
    const char *name;
    int (*attack)(size_t bytes);
};

struct size {
    const char *name;
    size_t bytes;
};

/* What the child would print comes after the attack, as in a program that goes on: stdio takes its buffer then. */
static const char *outcome_of(int (*attack)(size_t bytes), size_t bytes)
{
    pid_t child = fork();
    if (child == 0) {
        int nowhere = open("/dev/null", O_WRONLY);
        dup2(nowhere, STDOUT_FILENO);
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

template <size_t kinds, size_t sizes> static void run(const kind (&kind)[kinds], const size (&size)[sizes])
{
    for (const auto &each : kind)
        for (const auto &of : size)
            dprintf(STDOUT_FILENO, "%s %s %s\n", each.name, of.name, outcome_of(each.attack, of.bytes));
}
