/* Blocks of 6100 bytes plus the argument, then an exec of itself with a smaller argument; the image called with 0
 * ends with status 7. */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

int main(int count, char **arguments)
{
    int left = count > 1 ? atoi(arguments[1]) : 2;
    char argument[16];
    for (int i = 0; i <= left; i++)
        if (malloc(6100 + left) == NULL)
            return 1;
    if (left == 0)
        return 7;
    snprintf(argument, sizeof argument, "%d", left - 1);
    execl(arguments[0], arguments[0], argument, (char *)NULL);
    return 1;
}
