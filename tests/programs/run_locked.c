/* run_locked BYTES LIMIT THEN: a process without the capability to lock what it wants limits what it may lock to LIMIT bytes,
 * calls mlockall(2) (THEN: also for what it maps later), and allocates blocks of BYTES until NULL. Writes the bytes got. */
#include <errno.h>
#include <linux/capability.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

static void drop_capabilities(void)
{
    struct __user_cap_header_struct header = { _LINUX_CAPABILITY_VERSION_3, 0 };
    struct __user_cap_data_struct data[2] = { { 0 } };
    if (syscall(SYS_capset, &header, data) != 0)
        exit(3);
}

int main(int count, char **argument)
{
    if (count != 4)
        return 3;
    size_t bytes = strtoul(argument[1], NULL, 10), limit = strtoul(argument[2], NULL, 10), got = 0;
    void *before = malloc(200000); /* a run, so that the run span has grown */
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
