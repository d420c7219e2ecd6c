/* given FILE: writes to FILE what it was started with: its words, environment, descriptors, signals, limits and so on. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <sys/auxv.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

extern char **environ;

static void descriptors(FILE *out)
{
    for (int file = 0; file < 256; file++) {
        int flags = fcntl(file, F_GETFD);
        if (flags >= 0 && file != fileno(out))
            fprintf(out, "descriptor %d %d\n", file, flags);
    }
}

static void signals(FILE *out)
{
    sigset_t blocked;
    sigprocmask(SIG_SETMASK, NULL, &blocked);
    for (int number = 1; number < NSIG; number++) {
        struct sigaction action;
        if (sigaction(number, NULL, &action) != 0)
            continue;
        const char *what = action.sa_handler == SIG_DFL ? "default" : action.sa_handler == SIG_IGN ? "ignored" : "caught";
        fprintf(out, "signal %d %s%s\n", number, what, sigismember(&blocked, number) == 1 ? " blocked" : "");
    }
}

int main(int argc, char **argv)
{
    FILE *out = fopen(argv[argc - 1], "we");
    if (out == NULL)
        return 1;
    for (int i = 0; i < argc; i++)
        fprintf(out, "word %s\n", argv[i]);
    for (char **entry = environ; *entry != NULL; entry++)
        fprintf(out, "entry %s\n", *entry);
    descriptors(out);
    signals(out);
    for (int resource = 0; resource < RLIMIT_NLIMITS; resource++) {
        struct rlimit limit;
        if (getrlimit(resource, &limit) == 0)
            fprintf(out, "limit %d %lu %lu\n", resource, (unsigned long)limit.rlim_cur, (unsigned long)limit.rlim_max);
    }
    char folder[4096];
    cpu_set_t processors;
    mode_t mask = umask(0);
    fprintf(out, "umask %o\nfolder %s\nnice %d\n", mask, getcwd(folder, sizeof folder), getpriority(PRIO_PROCESS, 0));
    sched_getaffinity(0, sizeof processors, &processors);
    fprintf(out, "processors %d\ngroup %d\nsession %d\n", CPU_COUNT(&processors), getpgrp(), getsid(0));
    fprintf(out, "secure %lu\nterminal %d\n", getauxval(AT_SECURE), tcgetpgrp(0) == getpgrp());
    return fclose(out) != 0;
}
