/* run_locked BYTES LIMIT THEN FREED: a process without the capability to lock what it wants allocates FREED blocks of BYTES and
 * as many large ones, frees them, limits what it may lock to LIMIT bytes, calls mlockall(2) (THEN: also for what it maps
 * later), and allocates blocks of BYTES until NULL. Writes the bytes got. */
#include <errno.h>
#include <linux/capability.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { LARGE = 200000, MOST_FREED = 16 };

static void drop_capabilities(void)
{
    struct __user_cap_header_struct header = { _LINUX_CAPABILITY_VERSION_3, 0 };
    struct __user_cap_data_struct data[2] = { { 0 } };
    if (syscall(SYS_capset, &header, data) != 0)
        exit(3);
}

static void allocate_and_free(size_t bytes, int freed)
{
    void *small[MOST_FREED], *large[MOST_FREED];
    for (int index = 0; index < freed; index++)
        if ((small[index] = malloc(bytes)) == NULL || (large[index] = malloc(LARGE)) == NULL)
            exit(1);
    for (int index = 0; index < freed; index++) {
        free(small[index]);
        free(large[index]);
    }
}

int main(int count, char **argument)
{
    int freed = count == 5 ? atoi(argument[4]) : -1;
    if (freed < 0 || freed > MOST_FREED)
        return 3;
    size_t bytes = strtoul(argument[1], NULL, 10), limit = strtoul(argument[2], NULL, 10), got = 0;
    void *before = malloc(LARGE); /* a run, so that the run span has grown */
    allocate_and_free(bytes, freed);
    if (before == NULL || setrlimit(RLIMIT_MEMLOCK, &(struct rlimit){ limit, limit }) != 0)
        return 3;
    drop_capabilities();
    if (mlockall(MCL_CURRENT | (strcmp(argument[3], "then") == 0 ? MCL_FUTURE : 0)) != 0) {
        perror("mlockall");
        return 1;
    }
    for (char *block; got < limit && (block = malloc(bytes)) != NULL; got += bytes)
        memset(block, 1, bytes);
    return printf("%zu\n", got) < 0;
}
