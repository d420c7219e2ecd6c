/* few_calls: a sandbox that refuses all system calls but a few (EPERM), and random requests in it. Exit status 77: no filters. */
#define _GNU_SOURCE
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { BLOCKS = 500, REQUESTS = 20000, LARGE_EACH = 50, LARGE = 200000, SMALL = 2000 };

#define ALLOW(call) BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, call, 0, 1), BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)

static void forbid(void)
{
    struct sock_filter filter[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        ALLOW(SYS_mmap), ALLOW(SYS_munmap), ALLOW(SYS_brk), ALLOW(SYS_write), ALLOW(SYS_exit_group),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | 1), /* EPERM */
    };
    struct sock_fprog program = { sizeof filter / sizeof filter[0], filter };
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0)
        _exit(77);
}

int main(void)
{
    static char *block[BLOCKS];
    static size_t bytes[BLOCKS];
    long refused = 0, wrong = 0;
    forbid();
    for (unsigned turn = 0; turn < REQUESTS; turn++) {
        unsigned at = turn * 7919 % BLOCKS;
        for (size_t byte = 0; byte < bytes[at]; byte += 1000)
            wrong += block[at][byte] != (char)at;
        free(block[at]);
        bytes[at] = 1 + turn * 131 % (turn % LARGE_EACH == 0 ? LARGE : SMALL);
        block[at] = malloc(bytes[at]);
        if (block[at] == NULL) {
            refused++;
            bytes[at] = 0;
        } else {
            memset(block[at], (char)at, bytes[at]);
        }
    }
    char said[64];
    int length = snprintf(said, sizeof said, "%ld refused, %ld wrong\n", refused, wrong);
    return write(STDOUT_FILENO, said, (size_t)length) != length;
}
