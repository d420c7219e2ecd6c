/* heapsmith-launch REPORT PERIOD_US: run once the program CMD that standard input describes (become.h), and write what it
 * used to the file REPORT, as JSON.
 *
 * A small process of its own, because ru_maxrss of getrusage(2) survives execve(2) and begins with the RSS of the
 * process that forked: from a Python of 200 MB no program would use less. From here the floor is this process's own
 * RSS, about 1 MB. ru_maxrss is that of the largest process among CMD, the descendants that were waited for, and
 * daemons of theirs that ended before CMD did; CPU times are their sum. Standard output and error are CMD's, its input
 * is /dev/null.
 *
 * Every PERIOD_US it adds up the resident pages of CMD and all its descendants (proc_pid_statm(5), the kernel's own
 * counters: no page table is walked, no lock of CMD's is taken). A page that two processes share counts in both; a
 * child of vfork(2) before its exec counts nothing, as all its memory is its parent's. The first period is a sixteenth
 * of that, and each is twice the one before, so that short runs have samples too. The average is over the time from
 * exec to the end, between samples linear. The peak is ru_maxrss, or the largest sum over several processes if that is
 * larger. Both count those that have executed a program or are at their eighth sample, for a child of fork(2) has its
 * parent's pages until its exec, and a sample that happens to fall between would double the peak. What ends before is
 * in ru_maxrss only.
 * `processes` is how many were seen at once. `sampling_ns` is the CPU time of the samples. A run without a sample (no
 * pidfd_open(2), or it ended at once) has its peak as its average.
 *
 * Who ends a run that takes too long finds all its processes below this one: it becomes the parent of those that lose
 * theirs, waits for them as init(1) does, for CMD may look whether they are gone, and it lives on when the terminal
 * interrupts the run. */
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "become.h"

enum { BAD_USE = 2, MOST_PROCESSES = 4096, FIRST_PERIOD = 16 };
enum { SETTLED = 8 /* samples, of a process that has executed nothing */ };
enum { SAME_MEMORY = 1, HAS_NOT_EXECUTED = 0x40 }; /* the kernel's KCMP_VM and PF_FORKNOEXEC */

/* `parent`: its place in the tree. `samples`: how many saw it, SETTLED if it has executed a program. In pages: its
 * address space, what is resident of it, and of files. */
struct process {
    int id, parent, samples;
    unsigned long size, resident, shared;
};

/* One sample: how many processes there are, how many of them count, and the resident bytes of those together. */
struct sample {
    uint64_t processes, counted, bytes;
};

/* The processes of one sample, each behind its parent. Of a tree too large for it those beyond are in no sum, and what
 * comes into view later counts as new: the peak may be too small then, never too large. An id that another process got
 * within one period is taken for the same: the system hands out all others first. */
struct tree {
    struct process processes[MOST_PROCESSES];
    int count;
};

/* The samples so far; `area` is their integral over time in byte nanoseconds, `largest_bytes` the largest sum
 * over several processes. */
struct sampled {
    double area;
    uint64_t first_ns, last_ns, last_bytes, largest_bytes, most_processes, count, spent_ns;
};

static uint64_t read_clock_ns(clockid_t clock)
{
    struct timespec now;
    clock_gettime(clock, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static uint64_t time_ns(struct timeval t)
{
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_usec * 1000u;
}

/* The text of a file of /proc, cut to the buffer; empty if the process is gone. */
static char *contents(char *text, size_t room, const char *format, int process, const char *thread)
{
    char path[64];
    snprintf(path, sizeof path, format, process, thread);
    int file = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t n = file < 0 ? 0 : read(file, text, room - 1);
    text[n > 0 ? n : 0] = '\0';
    if (file >= 0)
        close(file);
    return text;
}

/* Append the children that the threads of the process `parent` have made to `processes`, which holds `count` now. */
static int add_children(struct process *processes, int count, int parent)
{
    char path[64], text[32768];
    int process = processes[parent].id;
    snprintf(path, sizeof path, "/proc/%d/task", process);
    DIR *threads = opendir(path);
    if (threads == NULL)
        return count;
    for (struct dirent *one; (one = readdir(threads)) != NULL;) {
        if (one->d_name[0] == '.')
            continue;
        char *at = contents(text, sizeof text, "/proc/%d/task/%s/children", process, one->d_name), *end;
        for (long child; (child = strtol(at, &end, 10)) > 0 && end != at && count < MOST_PROCESSES; at = end)
            processes[count++] = (struct process){.id = (int)child, .parent = parent};
    }
    closedir(threads);
    return count;
}

/* Find this process and its descendants. */
static void find(struct tree *tree)
{
    tree->count = 1;
    tree->processes[0] = (struct process){.id = getpid()};
    for (int i = 0; i < tree->count; i++)
        tree->count = add_children(tree->processes, tree->count, i);
}

/* Whether a child has its parent's memory as its own, as between vfork(2) and execve(2): `order` is what kcmp(2) said,
 * negative where the system does not let it. There the counters tell, if the parent has no thread that changes them. */
static bool shares_memory(const struct process *child, const struct process *parent, long order)
{
    if (order >= 0)
        return order == 0;
    return child->size == parent->size && child->resident == parent->resident && child->shared == parent->shared;
}

static bool has_executed(int process)
{
    char text[256];
    const char *after_name = strrchr(contents(text, sizeof text, "/proc/%d/stat%s", process, ""), ')');
    unsigned long flags;
    return after_name != NULL && sscanf(after_name, ") %*c %*d %*d %*d %*d %*d %lu", &flags) == 1 &&
           (flags & HAS_NOT_EXECUTED) == 0;
}

/* How many samples saw a process, with this one; `at` is where the sample before has the one ahead of it: the order
 * changes little, so the search mostly ends at once. */
static int samples_of(int id, const struct tree *before, int *at)
{
    int samples = 1;
    for (int tried = 0; tried < before->count; tried++) {
        *at = (*at + 1) % before->count;
        if (before->processes[*at].id == id) {
            samples += before->processes[*at].samples;
            break;
        }
    }
    return samples >= SETTLED || has_executed(id) ? SETTLED : samples;
}

static struct sample tree_rss(struct tree *now, const struct tree *before)
{
    struct sample found = {0};
    find(now);
    for (int i = 1, place = 0; i < now->count; i++) {
        struct process *one = &now->processes[i], *parent = &now->processes[one->parent];
        /* Both before the counters are read: what has its own memory by now has it when they are. */
        long order = syscall(SYS_kcmp, one->id, parent->id, SAME_MEMORY, 0L, 0L);
        one->samples = samples_of(one->id, before, &place);
        char text[128], *at = contents(text, sizeof text, "/proc/%d/statm%s", one->id, "");
        one->size = strtoul(at, &at, 10);
        one->resident = strtoul(at, &at, 10);
        one->shared = strtoul(at, NULL, 10);
        if (one->resident == 0 || shares_memory(one, parent, order))
            continue;
        found.processes++;
        if (one->samples != SETTLED)
            continue;
        found.counted++;
        found.bytes += one->resident * (uint64_t)sysconf(_SC_PAGESIZE);
    }
    return found;
}

/* Descendants that go on after CMD's end: this process is their parent now. */
static int left(void)
{
    static struct tree tree;
    while (waitpid(-1, NULL, WNOHANG) > 0)
        ;
    find(&tree);
    return tree.count - 1;
}

/* What ended processes used; of a daemon what its parents' does not have. */
static void add_usage(struct rusage *sum, const struct rusage *of)
{
    timeradd(&sum->ru_utime, &of->ru_utime, &sum->ru_utime);
    timeradd(&sum->ru_stime, &of->ru_stime, &sum->ru_stime);
    sum->ru_maxrss = of->ru_maxrss > sum->ru_maxrss ? of->ru_maxrss : sum->ru_maxrss;
    sum->ru_minflt += of->ru_minflt;
    sum->ru_majflt += of->ru_majflt;
}

/* Wait for daemons that have ended; not for CMD. */
static void reap(pid_t child, struct rusage *daemons)
{
    siginfo_t ended = {0};
    struct rusage used;
    while (waitid(P_ALL, 0, &ended, WEXITED | WNOHANG | WNOWAIT) == 0 && ended.si_pid != 0 && ended.si_pid != child) {
        if (wait4(ended.si_pid, NULL, 0, &used) > 0)
            add_usage(daemons, &used);
        ended.si_pid = 0;
    }
}

static void add(struct sampled *s, uint64_t now_ns, uint64_t bytes)
{
    if (s->count++ == 0)
        s->first_ns = now_ns;
    else
        s->area += (double)(now_ns - s->last_ns) * (double)(bytes + s->last_bytes) / 2;
    s->last_ns = now_ns;
    s->last_bytes = bytes;
}

/* Sample until the child ends; until then it has what the last sample found. */
static void watch(pid_t child, uint64_t most_ns, struct sampled *s, struct rusage *daemons)
{
    struct pollfd ends = {.fd = (int)syscall(SYS_pidfd_open, child, 0), .events = POLLIN};
    uint64_t before = read_clock_ns(CLOCK_PROCESS_CPUTIME_ID), period_ns = most_ns / FIRST_PERIOD + 1;
    if (ends.fd < 0)
        return;
    static struct tree trees[2];
    struct timespec wait = {0};
    for (unsigned turn = 0; ppoll(&ends, 1, &wait, NULL) == 0; turn++) {
        struct sample found = tree_rss(&trees[turn % 2], &trees[(turn + 1) % 2]);
        reap(child, daemons);
        if (found.bytes > 0) /* 0: it is about to end */
            add(s, read_clock_ns(CLOCK_MONOTONIC), found.bytes);
        if (found.counted > 1 && found.bytes > s->largest_bytes)
            s->largest_bytes = found.bytes;
        if (found.processes > s->most_processes)
            s->most_processes = found.processes;
        wait = (struct timespec){(time_t)(period_ns / 1000000000u), (long)(period_ns % 1000000000u)};
        period_ns = 2 * period_ns < most_ns ? 2 * period_ns : most_ns;
    }
    if (s->count > 0)
        add(s, read_clock_ns(CLOCK_MONOTONIC), s->last_bytes);
    close(ends.fd);
    s->spent_ns = read_clock_ns(CLOCK_PROCESS_CPUTIME_ID) - before;
}

static uint64_t peak_bytes(const struct sampled *s, const struct rusage *used)
{
    uint64_t of_one = (uint64_t)used->ru_maxrss * 1024;
    return s->largest_bytes > of_one ? s->largest_bytes : of_one;
}

static uint64_t average_bytes(const struct sampled *s, uint64_t peak)
{
    return s->count == 0 ? peak : (uint64_t)(s->area / (double)(s->last_ns - s->first_ns));
}

/* The status of CMD's end. sum: adds what it used, and what daemons used that ended before. */
static int wait_for(pid_t child, struct rusage *sum)
{
    struct rusage used;
    int status = 0;
    for (pid_t ended = 0; ended != child && (ended >= 0 || errno == EINTR);)
        if ((ended = wait4(-1, &status, 0, &used)) > 0)
            add_usage(sum, &used);
    return status;
}

static int write_report(const char *path, uint64_t wall_ns, int exec_error, int status, const struct rusage *used,
                        const struct sampled *s)
{
    uint64_t peak = peak_bytes(s, used), processes = s->most_processes > 1 ? s->most_processes : 1;
    int file = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    if (file < 0) {
        dprintf(2, "heapsmith-launch: %s: %s\n", path, strerror(errno));
        return BAD_USE;
    }
    bool is_whole =
        dprintf(file, "{\"exec_errno\": %d, \"exit_status\": %d, \"signal\": %d,\n", exec_error,
                WIFEXITED(status) ? WEXITSTATUS(status) : 0, WIFSIGNALED(status) ? WTERMSIG(status) : 0) > 0 &&
        dprintf(file, " \"wall_ns\": %lu, \"user_ns\": %lu, \"system_ns\": %lu,\n", wall_ns, time_ns(used->ru_utime),
                time_ns(used->ru_stime)) > 0 &&
        dprintf(file, " \"peak_rss_bytes\": %lu, \"minor_faults\": %ld, \"major_faults\": %ld,\n", peak,
                used->ru_minflt, used->ru_majflt) > 0 &&
        dprintf(file, " \"average_rss_bytes\": %lu, \"samples\": %lu, \"sampling_ns\": %lu, \"left\": %d,\n",
                average_bytes(s, peak), s->count, s->spent_ns, left()) > 0 &&
        dprintf(file, " \"processes\": %lu}\n", processes) > 0;
    return close(file) == 0 && is_whole ? 0 : BAD_USE;
}

int main(int argc, char **argv)
{
    int pipe_ends[2], exec_error = 0;
    struct rusage used = {0};
    struct sampled sampled = {0};
    struct start start;
    uint64_t period_ns = argc != 3 ? 0 : strtoul(argv[2], NULL, 10) * 1000;
    if (period_ns == 0 || !start_read(0, &start) || open("/dev/null", O_RDONLY) != 0 || pipe2(pipe_ends, O_CLOEXEC) != 0) {
        dprintf(2, "usage: heapsmith-launch REPORT PERIOD_US, with a description as its input\n");
        return BAD_USE;
    }
    prctl(PR_SET_CHILD_SUBREAPER, 1);
    signal(SIGINT, SIG_IGN);
    signal(SIGQUIT, SIG_IGN);
    uint64_t begun = read_clock_ns(CLOCK_MONOTONIC);
    pid_t child = fork();
    if (child < 0) {
        dprintf(2, "heapsmith-launch: fork: %s\n", strerror(errno));
        return BAD_USE;
    }
    if (child == 0)
        start_become(&start, pipe_ends[1]);
    close(pipe_ends[1]);
    if (read(pipe_ends[0], &exec_error, sizeof exec_error) < 0) /* 0 bytes: CMD runs */
        exec_error = errno;
    watch(child, period_ns, &sampled, &used);
    int status = wait_for(child, &used);
    uint64_t ended = read_clock_ns(CLOCK_MONOTONIC);
    return write_report(argv[1], ended - begun, exec_error, status, &used, &sampled);
}
