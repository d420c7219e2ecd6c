/* fork while threads allocate on every path. argv: the mode, how many rounds.
 *   load      children and grandchildren allocate, reallocate and free in all tiers, their parent's blocks too
 *   handler   a timer's signal handler forks, in whatever the interrupted thread was doing; the child ends at once
 *   alone     the same in a process of one thread, whose child goes on allocating after the handler
 *   spawn     vfork and exec, posix_spawn */
#include "run_blocks.h"

#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <sys/time.h>
#include <sys/wait.h>

enum { WORKERS = 3, SLOTS = 64, EXCHANGE = 32, CHILD_SECONDS = 120 };

extern char **environ;

static struct block mine[SLOTS];       /* of the main thread: alive at every fork */
static unsigned char *handed[EXCHANGE]; /* blocks of 200 bytes that pass from thread to thread */
static volatile sig_atomic_t stop, forks, in_child;
static sig_atomic_t rounds;

static void change(struct block *block, uint32_t *random)
{
    size_t bytes = random_bytes(random);
    if (block->start != NULL && next_random(random) % 2 == 0) {
        unsigned char *moved = realloc(block->start, bytes + 1);
        demand(moved != NULL, "realloc failed");
        block->start = moved;
        demand(kept(block, bytes + 1 < block->bytes ? bytes + 1 : block->bytes), "realloc lost the contents");
        block->bytes = bytes + 1;
    } else {
        release(block);
        *block = (struct block){ malloc(bytes), bytes, (unsigned char)next_random(random) };
        demand(block->start != NULL, "malloc failed");
    }
    fill(block);
}

static void exchange(uint32_t *random)
{
    unsigned char *fresh = malloc(200);
    demand(fresh != NULL, "malloc failed");
    memset(fresh, 0x5A, 200);
    unsigned char *old = __atomic_exchange_n(&handed[next_random(random) % EXCHANGE], fresh, __ATOMIC_ACQ_REL);
    demand(old == NULL || (old[0] == 0x5A && old[199] == 0x5A), "a handed block lost its contents");
    free(old);
}

static void work(struct block *block, int steps, uint32_t *random)
{
    for (int step = 0; step < steps && !stop; step++) {
        change(&block[next_random(random) % SLOTS], random);
        exchange(random);
    }
}

static void release_all(struct block *block)
{
    for (int slot = 0; slot < SLOTS; slot++)
        release(&block[slot]);
}

static void *worker(void *number)
{
    struct block own[SLOTS] = { 0 };
    uint32_t random = 77 + (uint32_t)(uintptr_t)number;
    while (!stop)
        work(own, 1000, &random);
    release_all(own);
    return NULL;
}

/* Bursts on the slow paths only: refills, flushes, runs, mappings. */
static void burst(uint32_t *random)
{
    void *held[300];
    size_t bytes = random_bytes(random) % 300000;
    for (int index = 0; index < 300; index++)
        demand((held[index] = malloc(bytes < 20000 || index < 8 ? bytes : 16)) != NULL, "malloc failed");
    for (int index = 0; index < 300; index++)
        free(held[index]);
    free(malloc((size_t)40 << 20));
}

static void *burster(void *number)
{
    uint32_t random = 5 + (uint32_t)(uintptr_t)number;
    while (!stop)
        burst(&random);
    return NULL;
}

static void await(pid_t child)
{
    int status = 1;
    pid_t ended;
    while ((ended = waitpid(child, &status, 0)) < 0 && errno == EINTR)
        ;
    demand(ended == child, "waitpid failed");
    demand(!WIFSIGNALED(status) || WTERMSIG(status) != SIGALRM, "a child hangs");
    demand(!WIFSIGNALED(status), "a child was killed by a signal");
    demand(WEXITSTATUS(status) == 0, "a child failed");
}

static void descend(int generations, uint32_t random)
{
    pid_t child = fork();
    demand(child >= 0, "fork failed");
    if (child > 0) {
        await(child);
        return;
    }
    alarm(CHILD_SECONDS);
    work(mine, 100, &random);
    if (generations > 1)
        descend(generations - 1, random);
    work(mine, 100, &random);
    release_all(mine);
    _exit(0);
}

static void load(void)
{
    uint32_t random = 1234;
    for (int round = 0; round < rounds; round++) {
        work(mine, 20, &random);
        descend(2, random);
    }
}

static void arm(void)
{
    struct itimerval soon = { { 0, 0 }, { 0, 1000 } };
    setitimer(ITIMER_REAL, &soon, NULL);
}

static void fork_and_end(int signal)
{
    (void)signal;
    int saved = errno;
    pid_t child = fork();
    if (child == 0)
        _exit(0);
    demand(child > 0, "fork failed");
    await(child);
    if (++forks < rounds)
        arm();
    errno = saved;
}

static void fork_and_go_on(int signal)
{
    (void)signal;
    int saved = errno;
    pid_t child = fork();
    demand(child >= 0, "fork failed");
    if (child > 0) {
        await(child);
        if (++forks < rounds)
            arm();
    } else {
        in_child = 20; /* bursts from here on */
        alarm(0);
        struct sigaction deadly = { .sa_handler = SIG_DFL };
        sigaction(SIGALRM, &deadly, NULL);
        alarm(CHILD_SECONDS);
    }
    errno = saved;
}

static void interrupted(void (*handler)(int))
{
    struct sigaction action = { .sa_handler = handler };
    sigaction(SIGALRM, &action, NULL);
    uint32_t random = 9;
    arm();
    while (forks < rounds) {
        burst(&random);
        if (in_child > 0 && --in_child == 0)
            _exit(0);
    }
}

static pid_t vfork_true(char **command)
{
    pid_t child = vfork();
    if (child == 0) {
        execv(command[0], command);
        _exit(127);
    }
    return child;
}

static void spawn(void)
{
    char *command[] = { "/bin/true", NULL };
    for (int round = 0; round < rounds; round++) {
        pid_t child = vfork_true(command);
        await(child);
        demand(posix_spawn(&child, command[0], NULL, NULL, command, environ) == 0, "posix_spawn failed");
        await(child);
    }
}

int main(int count, char **arguments)
{
    demand(count == 3, "usage: MODE ROUNDS");
    rounds = atoi(arguments[2]);
    bool handler = strcmp(arguments[1], "handler") == 0, alone = strcmp(arguments[1], "alone") == 0;
    pthread_t thread[WORKERS];
    for (uintptr_t index = 0; index < WORKERS && !alone; index++)
        demand(pthread_create(&thread[index], NULL, handler ? burster : worker, (void *)index) == 0, "no thread");
    if (handler)
        interrupted(fork_and_end);
    else if (alone)
        interrupted(fork_and_go_on);
    else if (strcmp(arguments[1], "spawn") == 0)
        spawn();
    else
        load();
    stop = 1;
    for (int index = 0; index < WORKERS && !alone; index++)
        pthread_join(thread[index], NULL);
    stop = 0;
    release_all(mine);
    if (heapsmith_check != NULL)
        heapsmith_check();
    return puts("done") < 0;
}
