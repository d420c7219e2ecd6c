/* heapsmith-launch REPORT PRELOAD CMD ARG0 ARG...: run CMD (a path) once and write what it used to the file REPORT, as
 * JSON. PRELOAD is CMD's LD_PRELOAD, or empty for what the environment says.
 *
 * A small process of its own, because ru_maxrss of getrusage(2) survives execve(2) and begins with the RSS of the
 * process that forked: from a Python of 200 MB no program would use less. From here the floor is this process's own
 * RSS, about 1 MB. ru_maxrss is that of the largest process among CMD and the descendants it waited for; CPU times are
 * their sum. Standard streams are CMD's. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { CANNOT_EXEC = 127, BAD_USE = 2 };

static uint64_t now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static uint64_t time_ns(struct timeval t)
{
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_usec * 1000u;
}

/* In the child. If CMD cannot be executed, errno goes through the pipe, which a successful exec closes. */
static void become(const char *preload, const char *command, char **arguments, int error_pipe)
{
    if (preload[0] != '\0')
        setenv("LD_PRELOAD", preload, 1);
    execv(command, arguments);
    int error = errno;
    _exit(write(error_pipe, &error, sizeof error) == sizeof error ? CANNOT_EXEC : BAD_USE);
}

static int wait_for(pid_t child, struct rusage *used)
{
    int status = 0;
    while (wait4(child, &status, 0, used) < 0 && errno == EINTR)
        ;
    return status;
}

static int write_report(const char *path, uint64_t wall_ns, int exec_error, int status, const struct rusage *used)
{
    int file = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    if (file < 0) {
        dprintf(2, "heapsmith-launch: %s: %s\n", path, strerror(errno));
        return BAD_USE;
    }
    dprintf(file, "{\"exec_errno\": %d, \"exit_status\": %d, \"signal\": %d,\n", exec_error,
            WIFEXITED(status) ? WEXITSTATUS(status) : 0, WIFSIGNALED(status) ? WTERMSIG(status) : 0);
    dprintf(file, " \"wall_ns\": %lu, \"user_ns\": %lu, \"system_ns\": %lu,\n", wall_ns, time_ns(used->ru_utime),
            time_ns(used->ru_stime));
    dprintf(file, " \"peak_rss_bytes\": %lu, \"minor_faults\": %ld, \"major_faults\": %ld}\n",
            (uint64_t)used->ru_maxrss * 1024, used->ru_minflt, used->ru_majflt);
    return close(file) == 0 ? 0 : BAD_USE;
}

int main(int argc, char **argv)
{
    int pipe_ends[2], exec_error = 0;
    struct rusage used = {0};
    if (argc < 5 || pipe2(pipe_ends, O_CLOEXEC) != 0) {
        dprintf(2, "usage: heapsmith-launch REPORT PRELOAD CMD ARG0 ARG...\n");
        return BAD_USE;
    }
    uint64_t begun = now_ns();
    pid_t child = fork();
    if (child < 0) {
        dprintf(2, "heapsmith-launch: fork: %s\n", strerror(errno));
        return BAD_USE;
    }
    if (child == 0)
        become(argv[2], argv[3], argv + 4, pipe_ends[1]);
    close(pipe_ends[1]);
    if (read(pipe_ends[0], &exec_error, sizeof exec_error) < 0) /* 0 bytes: CMD runs */
        exec_error = errno;
    int status = wait_for(child, &used);
    return write_report(argv[1], now_ns() - begun, exec_error, status, &used);
}
