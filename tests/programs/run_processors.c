/* Threads that change places all the time: blocks with patterns go from any to any, under signals, yields, moves and forks.
 *
 * usage: run_processors THREADS OPERATIONS. Status 0: no block changed while it was somebody's. */
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

enum { PLACES = 512, LARGEST_WORDS = 40, FORKS = 6, MOST_THREADS = 256, SIGNAL_US = 500 };

/* The block begins with its own name, and all its words are that. */
struct named {
    uint64_t name;
    uint32_t words;
};

static _Atomic(struct named *) place[PLACES];
static atomic_ullong names = 1;
static atomic_uint interrupts;
static unsigned operations;
static cpu_set_t processors; /* that the process may use */

static void interrupted(int signal)
{
    (void)signal;
    atomic_fetch_add(&interrupts, 1);
}

static uint32_t draw(uint32_t *state)
{
    *state ^= *state << 13;
    *state ^= *state >> 17;
    *state ^= *state << 5;
    return *state;
}

static struct named *born(uint32_t *state)
{
    uint32_t words = 2 + draw(state) % LARGEST_WORDS;
    uint64_t *word = malloc(words * sizeof *word);
    if (word == NULL)
        abort();
    uint64_t name = atomic_fetch_add(&names, 1);
    for (uint32_t index = 0; index < words; index++)
        word[index] = name;
    ((struct named *)word)->words = words;
    return (struct named *)word;
}

static void died(struct named *block)
{
    if (block == NULL)
        return;
    const uint64_t *word = (uint64_t *)block;
    for (uint32_t index = 2; index < block->words; index++)
        if (word[index] != block->name) {
            fprintf(stderr, "a block of %u words was handed out twice\n", block->words);
            abort();
        }
    free(block);
}

static void move_elsewhere(uint32_t *state)
{
    cpu_set_t one;
    int number = (int)(draw(state) % (uint32_t)CPU_COUNT(&processors));
    for (int processor = 0; processor < CPU_SETSIZE; processor++)
        if (CPU_ISSET(processor, &processors) && number-- == 0) {
            CPU_ZERO(&one);
            CPU_SET(processor, &one);
            sched_setaffinity(0, sizeof one, &one);
            return;
        }
}

static void *exchange(void *with)
{
    uint32_t state = (uint32_t)(uintptr_t)with;
    for (unsigned operation = 0; operation < operations; operation++) {
        struct named *block = draw(&state) % 2 == 0 ? born(&state) : NULL;
        died(atomic_exchange(&place[draw(&state) % PLACES], block));
        uint32_t chance = draw(&state) % 256;
        if (chance < 8)
            sched_yield();
        else if (chance == 8)
            move_elsewhere(&state);
    }
    return NULL;
}

static void fork_once(void)
{
    pid_t child = fork();
    if (child == 0) {
        uint32_t state = 1;
        for (int block = 0; block < 1000; block++)
            died(born(&state));
        _exit(0);
    }
    int status;
    if (child < 0 || waitpid(child, &status, 0) != child || status != 0) {
        fputs("a forked child cannot allocate\n", stderr);
        abort();
    }
}

int main(int count, char **argument)
{
    unsigned threads = count == 3 ? (unsigned)atoi(argument[1]) : 0;
    operations = count == 3 ? (unsigned)atoi(argument[2]) : 0;
    if (threads == 0 || threads > MOST_THREADS || operations == 0)
        return 2;
    sched_getaffinity(0, sizeof processors, &processors);
    signal(SIGALRM, interrupted);
    setitimer(ITIMER_REAL, &(struct itimerval){ { 0, SIGNAL_US }, { 0, SIGNAL_US } }, NULL);
    pthread_t thread[MOST_THREADS];
    for (unsigned index = 0; index < threads; index++)
        if (pthread_create(&thread[index], NULL, exchange, (void *)(uintptr_t)(index + 1)) != 0)
            return 3;
    for (int times = 0; times < FORKS; times++)
        fork_once();
    for (unsigned index = 0; index < threads; index++)
        pthread_join(thread[index], NULL);
    for (int index = 0; index < PLACES; index++)
        died(atomic_exchange(&place[index], NULL));
    return 0;
}
