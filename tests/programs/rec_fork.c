/* A parent and three kinds of child: by fork, by the bare system call (no atfork handlers), and by vfork. */
#define _GNU_SOURCE
#include <signal.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static void use(size_t bytes, int times)
{
    for (int i = 0; i < times; i++)
        free(malloc(bytes));
}

int main(void)
{
    void *inherited = malloc(6000);
    use(6001, 100);
    if (fork() == 0) {
        free(inherited); /* foreign: the child's recording begins with the child */
        use(6002, 100);
        exit(0);
    }
    use(6003, 100);
    if (syscall(SYS_clone, SIGCHLD, NULL, NULL, NULL, NULL) == 0) {
        use(6004, 100);
        _exit(0);
    }
    use(6005, 100);
    if (vfork() == 0)
        _exit(0);
    use(6006, 100);
    while (wait(NULL) > 0)
        ;
    free(inherited);
    return 0;
}
