/* no_calls OPERATIONS THREADS [SEED]: random requests by threads that the kernel kills at a system call for memory or a lock.
 *
 * Each thread makes a request, so that it has a heap, and forbids itself these calls. Then it replaces random blocks of its own
 * slots, and of slots that all threads share, so that threads free each other's blocks. Prints the worst operation in
 * nanoseconds. Exit status 77: this kernel has no filters. */
#define _GNU_SOURCE
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <malloc.h>
#include <pthread.h>
#include <sched.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum { OWN = 1000, SHARED = 500, MOST_THREADS = 16 };

static void *own[MOST_THREADS][OWN], *shared[SHARED];
static uint64_t worst[MOST_THREADS];
static long faults[MOST_THREADS];
static long operations;
static unsigned seed;
static int ready, go, done, threads;

#define KILL_AT(call) BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, call, 0, 1), BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS)

static void forbid(void)
{
    struct sock_filter filter[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        KILL_AT(SYS_mmap),    KILL_AT(SYS_munmap),  KILL_AT(SYS_mremap), KILL_AT(SYS_mprotect), KILL_AT(SYS_madvise),
        KILL_AT(SYS_futex),   KILL_AT(SYS_brk),     KILL_AT(SYS_mlock),  KILL_AT(SYS_write),    KILL_AT(SYS_sched_yield),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog program = { sizeof filter / sizeof filter[0], filter };
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0)
        _exit(77);
}

static uint32_t next(uint64_t *state)
{
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(*state >> 33);
}

static uint64_t now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (uint64_t)time.tv_sec * 1000000000u + (uint64_t)time.tv_nsec;
}

/* Mostly small; 1 in 64 up to 32 KiB. */
static size_t draw(uint64_t *state)
{
    uint32_t kind = next(state) % 64;
    return 1 + next(state) % (kind == 0 ? 32768 : kind < 8 ? 4096 : 256);
}

static void *request(uint64_t *state, void *old)
{
    size_t bytes = draw(state);
    switch (next(state) % 8) {
    case 0:
        free(old);
        return calloc(1, bytes);
    case 1:
        return realloc(old, bytes);
    case 2:
        free(old);
        return aligned_alloc(64, bytes);
    case 3:
        free(old);
        return NULL;
    default:
        free(old);
        return malloc(bytes);
    }
}

static void operate(int self, uint64_t *state)
{
    uint32_t place = next(state);
    bool is_shared = threads > 1 && place % 4 == 0;
    void **slot = is_shared ? &shared[place / 4 % SHARED] : &own[self][place / 4 % OWN];
    void *old = is_shared ? __atomic_exchange_n(slot, NULL, __ATOMIC_ACQ_REL) : *slot;
    uint64_t from = now();
    void *block = request(state, old);
    uint64_t took = now() - from;
    worst[self] = took > worst[self] ? took : worst[self];
    if (block != NULL)
        memset(block, 1, malloc_usable_size(block) < 64 ? malloc_usable_size(block) : 64);
    if (is_shared)
        free(__atomic_exchange_n(slot, block, __ATOMIC_ACQ_REL));
    else
        *slot = block;
}

static long faults_of_thread(void)
{
    struct rusage usage;
    getrusage(RUSAGE_THREAD, &usage);
    return usage.ru_minflt;
}

static void *work(void *argument)
{
    int self = (int)(intptr_t)argument;
    uint64_t state = seed + 7u * (unsigned)self;
    free(malloc(1));
    __atomic_add_fetch(&ready, 1, __ATOMIC_ACQ_REL);
    while (!__atomic_load_n(&go, __ATOMIC_ACQUIRE))
        sched_yield();
    forbid();
    now();
    long before = faults_of_thread();
    for (long operation = 0; operation < operations; operation++)
        operate(self, &state);
    faults[self] = faults_of_thread() - before;
    __atomic_add_fetch(&done, 1, __ATOMIC_ACQ_REL);
    for (;;) /* the end of a thread makes system calls */
        pause();
    return NULL;
}

int main(int count, char **value)
{
    if (count < 3)
        return 2;
    operations = atol(value[1]);
    threads = atoi(value[2]);
    seed = count > 3 ? (unsigned)atoi(value[3]) : 1;
    memset(own, 0, sizeof own);
    for (int self = 0; self < threads; self++) {
        pthread_t thread;
        if (pthread_create(&thread, NULL, work, (void *)(intptr_t)self) != 0)
            return 2;
    }
    while (__atomic_load_n(&ready, __ATOMIC_ACQUIRE) < threads)
        sched_yield();
    __atomic_store_n(&go, 1, __ATOMIC_RELEASE);
    while (__atomic_load_n(&done, __ATOMIC_ACQUIRE) < threads)
        usleep(1000);
    uint64_t most = 0;
    long all = 0;
    for (int self = 0; self < threads; self++) {
        most = worst[self] > most ? worst[self] : most;
        all += faults[self];
    }
    printf("{\"worst_ns\": %lu, \"faults\": %ld}\n", (unsigned long)most, all);
    return 0;
}
