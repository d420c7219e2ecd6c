/* fork() while another library's fork handlers, registered before the preloaded library's, allocate and free. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

enum { BLOCKS = 4000 };

static void *block[BLOCKS];

static void before(void)
{
    for (int index = 0; index < BLOCKS; index++)
        block[index] = malloc(48 + index % 7 * 20000);
}

static void after(void)
{
    for (int index = 0; index < BLOCKS; index++)
        free(block[index]);
}

/* .preinit_array runs before every constructor of a shared library. */
static void register_handlers(void)
{
    pthread_atfork(before, after, after);
}

__attribute__((section(".preinit_array"), used)) static void (*const first)(void) = register_handlers;

int main(void)
{
    for (int round = 0; round < 5; round++) {
        pid_t child = fork();
        if (child == 0) {
            free(malloc(100));
            _exit(0);
        }
        int status = 1;
        if (waitpid(child, &status, 0) != child || status != 0)
            return 1;
    }
    return puts("forked") < 0;
}
