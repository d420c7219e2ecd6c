/* Children that end by exit(3) without an event, and with one. */
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

int main(void)
{
    free(malloc(6200));
    if (fork() == 0)
        exit(0);
    if (fork() == 0) {
        free(malloc(6201));
        exit(0);
    }
    while (wait(NULL) > 0)
        ;
    return 0;
}
