/* 100,000 blocks of 6200 bytes born and freed, one of 6201 kept; then the end that the argument names. */
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int main(int count, char **arguments)
{
    for (int i = 0; i < 100000; i++)
        free(malloc(6200));
    if (malloc(6201) == NULL || count != 2)
        return 1;
    if (strcmp(arguments[1], "_exit") == 0)
        _exit(3);
    if (strcmp(arguments[1], "kill") == 0)
        kill(getpid(), SIGKILL);
    if (strcmp(arguments[1], "abort") == 0)
        abort();
    return 0;
}
