/* A thread that a lock's release has woken is kept away, as by a signal's handler that waits, while another thread sleeps
 * on the same lock: the other must wake by itself, for it may hold what the handler waits for. */
#include "run_blocks.h"
#include "system_calls.h"

#include <pthread.h>
#include <stdio.h>

enum { THREADS = 4, WANTED = 5, SECONDS = 200 };

static uint32_t *sleeps_on[THREADS];
static uint64_t returns[THREADS]; /* from sleep */
static __thread int number;
static int times; /* the first thread was kept away */

/* Until all that sleep on the word have returned from it. */
static void keep_away(const uint32_t *word)
{
    bool asleep = false;
    for (int other = 1; other < THREADS; other++) {
        uint64_t before = __atomic_load_n(&returns[other], __ATOMIC_ACQUIRE);
        if (__atomic_load_n(&sleeps_on[other], __ATOMIC_ACQUIRE) != word)
            continue;
        asleep = true;
        while (__atomic_load_n(&returns[other], __ATOMIC_ACQUIRE) == before)
            usleep(1000);
    }
    if (asleep)
        __atomic_store_n(&times, times + 1, __ATOMIC_RELEASE);
}

long syscall(long what, ...)
{
    va_list words;
    va_start(words, what);
    struct system_call call = system_call_read(what, words);
    va_end(words);
    bool sleeps = call.futex == FUTEX_WAIT;
    if (sleeps)
        __atomic_store_n(&sleeps_on[number], call.word, __ATOMIC_RELEASE);
    long result = system_call_make(call);
    if (sleeps) {
        __atomic_store_n(&sleeps_on[number], NULL, __ATOMIC_RELEASE);
        __atomic_add_fetch(&returns[number], 1, __ATOMIC_ACQ_REL);
        if (number == 0 && result == 0)
            keep_away(call.word);
    }
    return result;
}

static void *work(void *which)
{
    number = (int)(intptr_t)which;
    void *held[300];
    while (__atomic_load_n(&times, __ATOMIC_ACQUIRE) < WANTED) {
        errno = 0;
        for (int index = 0; index < 300; index++)
            demand((held[index] = malloc(16)) != NULL, "malloc failed");
        for (int index = 0; index < 300; index++)
            free(held[index]);
        free(malloc((size_t)40 << 20));
        demand(errno == 0, "a lock has changed errno");
    }
    return NULL;
}

int main(void)
{
    pthread_t thread[THREADS];
    alarm(SECONDS);
    for (intptr_t index = 1; index < THREADS; index++)
        demand(pthread_create(&thread[index], NULL, work, (void *)index) == 0, "no thread");
    work(NULL);
    for (int index = 1; index < THREADS; index++)
        pthread_join(thread[index], NULL);
    return puts("done") < 0;
}
