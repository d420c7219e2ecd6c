/* run_limit BYTES THREADS [SPACE [SPIKE]]: THREADS threads allocate blocks of BYTES until NULL and ENOMEM. SPACE: the address
 * space that the process limits itself to before, in all (N) or beyond what it has (+N). SPIKE: bytes that it gets and frees
 * before that. Writes the bytes got. */
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>

static size_t bytes, got;
static pthread_barrier_t limited;

static size_t address_space(void)
{
    unsigned long pages = 0;
    FILE *sizes = fopen("/proc/self/statm", "r");
    if (sizes == NULL || fscanf(sizes, "%lu", &pages) != 1)
        exit(3);
    fclose(sizes);
    return pages * (size_t)sysconf(_SC_PAGESIZE);
}

static void limit(const char *space)
{
    size_t most = strtoul(space, NULL, 10) + (space[0] == '+' ? address_space() : 0);
    if (setrlimit(RLIMIT_AS, &(struct rlimit){ most, most }) != 0)
        exit(3);
}

static void spike(size_t most)
{
    void **newest = NULL;
    for (size_t live = 0; live < most; live += bytes) {
        void **block = malloc(bytes);
        if (block == NULL)
            exit(1);
        *block = newest;
        newest = block;
    }
    while (newest != NULL) {
        void **older = *newest;
        free(newest);
        newest = older;
    }
}

static void *exhaust(void *unused)
{
    pthread_barrier_wait(&limited);
    errno = 0;
    while (malloc(bytes) != NULL)
        __atomic_add_fetch(&got, bytes, __ATOMIC_RELAXED);
    if (errno != ENOMEM)
        exit(1);
    return unused;
}

int main(int count, char **argument)
{
    pthread_t thread[16];
    if (count < 3)
        return 3;
    bytes = strtoul(argument[1], NULL, 10);
    int threads = atoi(argument[2]);
    pthread_barrier_init(&limited, NULL, (unsigned)threads);
    for (int index = 1; index < threads; index++)
        if (pthread_create(&thread[index], NULL, exhaust, NULL) != 0)
            return 2;
    if (count > 4)
        spike(strtoul(argument[4], NULL, 10));
    if (count > 3)
        limit(argument[3]);
    exhaust(NULL);
    for (int index = 1; index < threads; index++)
        pthread_join(thread[index], NULL);
    return printf("%zu\n", got) < 0;
}
