/* Has memory of one kind and waits until somebody has looked at it (tests/test_resident_kinds.py). */
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/shm.h>
#include <sys/wait.h>
#include <unistd.h>

enum { MIB = 1 << 20, PAGE = 4096, THREADS = 16, DEPTH = 400, BLOCK = 1000 };

static const char *folder;
static char array[30 * MIB];
static volatile char sum;
static pthread_barrier_t all_deep, all_seen;

/* Wait until a look at this process has begun after this call and has ended. */
static void looked(void)
{
    char name[4096];
    snprintf(name, sizeof name, "%s/want.%d", folder, (int)getpid());
    close(creat(name, 0600));
    alarm(300);
    while (access(name, F_OK) == 0)
        usleep(1000);
}

static void *touched(void *memory, size_t bytes)
{
    for (size_t at = 0; at < bytes; at += PAGE)
        ((char *)memory)[at] = 1;
    return memory;
}

static void *mapped(size_t bytes, int flags, int file)
{
    void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, flags, file, 0);
    if (memory == MAP_FAILED)
        exit(9);
    return touched(memory, bytes);
}

static void deep(int calls)
{
    volatile char frame[PAGE];
    frame[0] = (char)calls;
    if (calls > 0)
        deep(calls - 1);
    else {
        pthread_barrier_wait(&all_deep);
        pthread_barrier_wait(&all_seen);
    }
    sum += frame[0];
}

static void *thread(void *none)
{
    free(malloc(100));
    deep(DEPTH);
    return none;
}

static void stacks(void)
{
    pthread_t threads[THREADS];
    pthread_barrier_init(&all_deep, NULL, THREADS + 1);
    pthread_barrier_init(&all_seen, NULL, THREADS + 1);
    for (int i = 0; i < THREADS; i++)
        pthread_create(&threads[i], NULL, thread, NULL);
    pthread_barrier_wait(&all_deep);
    looked();
    pthread_barrier_wait(&all_seen);
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
}

/* Many small blocks, of which the last one alone stays. */
static void blocks(void)
{
    enum { COUNT = 40 * MIB / BLOCK };
    static char *all[COUNT];
    for (int i = 0; i < COUNT; i++)
        all[i] = memset(malloc(BLOCK), 1, BLOCK);
    looked();
    for (int i = 0; i < COUNT - 1; i++)
        free(all[i]);
    looked();
}

/* A mapping comes and goes, then blocks come, where it was. */
static void in_turn(void)
{
    void *memory = mapped(64 * MIB, MAP_PRIVATE | MAP_ANONYMOUS, -1);
    looked();
    munmap(memory, 64 * MIB);
    looked();
    touched(malloc(32 * MIB), 32 * MIB);
    looked();
}

static void forked(void)
{
    touched(malloc(20 * MIB), 20 * MIB);
    mapped(30 * MIB, MAP_PRIVATE | MAP_ANONYMOUS, -1);
    looked();
    pid_t child = fork();
    if (child == 0) {
        touched(malloc(5 * MIB), 5 * MIB);
        looked();
        _exit(0);
    }
    waitpid(child, NULL, 0);
}

static void file(const char *name)
{
    char *content = mmap(NULL, 50 * MIB, PROT_READ, MAP_PRIVATE, open(name, O_RDONLY), 0);
    for (size_t at = 0; at < 50 * MIB; at += PAGE)
        sum += content[at];
    looked();
}

static void *of_system_v(size_t bytes)
{
    int number = shmget(IPC_PRIVATE, bytes, IPC_CREAT | 0600);
    void *memory = shmat(number, NULL, 0);
    shmctl(number, IPC_RMID, NULL);
    return touched(memory, bytes);
}

int main(int count, char **words)
{
    if (count < 3)
        return 2;
    const char *kind = words[1];
    folder = words[2];
    free(malloc(10));
    if (strcmp(kind, "mapping") == 0)
        mapped(64 * MIB, MAP_PRIVATE | MAP_ANONYMOUS, -1);
    else if (strcmp(kind, "brk") == 0)
        touched(sbrk(16 * MIB), 16 * MIB);
    else if (strcmp(kind, "array") == 0)
        touched(array, sizeof array);
    else if (strcmp(kind, "shared") == 0)
        mapped(40 * MIB, MAP_SHARED | MAP_ANONYMOUS, -1);
    else if (strcmp(kind, "memfd") == 0) {
        int made = memfd_create("memory", 0);
        if (ftruncate(made, 40 * MIB) == 0)
            mapped(40 * MIB, MAP_SHARED, made);
    } else if (strcmp(kind, "system_v") == 0)
        of_system_v(40 * MIB);
    else if (strcmp(kind, "written") == 0)
        mapped(50 * MIB, MAP_PRIVATE, open(words[3], O_RDWR));
    else if (strcmp(kind, "sparse") == 0) /* one page of ten is touched, beside a mapping of the program */
        for (char *at = malloc(200 * MIB), *end = at + 200 * MIB; at < end; at += 10 * PAGE)
            *at = 1;
    if (strcmp(kind, "sparse") == 0)
        mapped(10 * MIB + PAGE, MAP_PRIVATE | MAP_ANONYMOUS, -1); /* whole huge pages would lie apart */
    if (strcmp(kind, "stacks") == 0)
        stacks();
    else if (strcmp(kind, "blocks") == 0)
        blocks();
    else if (strcmp(kind, "in_turn") == 0)
        in_turn();
    else if (strcmp(kind, "forked") == 0)
        forked();
    else if (strcmp(kind, "file") == 0)
        file(words[3]);
    else
        looked();
    return 0;
}
