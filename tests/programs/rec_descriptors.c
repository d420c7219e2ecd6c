/* Closes every descriptor, again and again, leaves its directory, limits file sizes if asked ("limit"), and goes
 * on allocating. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

int main(int count, char **arguments)
{
    struct rlimit limit = {512 * 1024, 512 * 1024};
    if (count == 2 && strcmp(arguments[1], "limit") == 0 && setrlimit(RLIMIT_FSIZE, &limit) != 0)
        return 1;
    if (chdir("/") != 0)
        return 2;
    errno = 77;
    for (int i = 0; i < 100000; i++) {
        if (i % 1000 == 0)
            for (int descriptor = 0; descriptor < 64; descriptor++)
                if (close(descriptor) != 0)
                    errno = 77;
        free(malloc(6600));
    }
    int lowest = open("/dev/null", O_RDONLY);
    return errno == 77 && lowest == 0 ? 0 : 3;
}
