/* A handler that allocates, which is safe here: the signal is raised outside malloc. And one that a timer sends
 * into the midst of system calls, never of malloc. */
#include <signal.h>
#include <stdlib.h>
#include <sys/time.h>
#include <unistd.h>

static volatile sig_atomic_t handled;

static void handle(int number)
{
    free(malloc(number == SIGUSR1 ? 6800 : 6801));
    handled++;
}

int main(void)
{
    struct itimerval soon = {{0, 0}, {0, 1000}};
    signal(SIGUSR1, handle);
    signal(SIGALRM, handle);
    for (int i = 0; i < 1000; i++)
        raise(SIGUSR1);
    setitimer(ITIMER_REAL, &soon, NULL);
    while (handled < 1001)
        pause();
    return 0;
}
