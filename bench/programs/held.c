/* A library to preload behind others: it stops the program at its end, so that somebody can read /proc/PID/smaps. */
#include <signal.h>

__attribute__((destructor)) static void hold(void)
{
    raise(SIGSTOP);
}
