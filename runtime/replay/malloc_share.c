/* malloc-share.so: preloaded behind a malloc library, it samples where the program's CPU time goes: inside that
 * library, or elsewhere. At exit, each process appends "SAMPLES INSIDE" to the file that HEAPSMITH_MALLOC_SHARE names.
 *
 * A timer of the process's CPU time (user and system) raises SIGPROF; the handler looks where the instruction pointer
 * is. Unlike setitimer(2), timer_create(2) ends with execve(2), so no other program gets the signal. A program that
 * handles SIGPROF itself gets it, and one that gives SIGPROF its default action ends. Before Linux 6.4 the main thread
 * gets all signals of the process's timer, so that the samples of a program with threads are of that thread alone.
 * What the library leaves to the kernel or to libc (memcpy of realloc, system calls) counts as elsewhere; a page fault
 * counts where it happens. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <link.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

#include "1_base/arch/arch.h"

enum { PERIOD_NS = 1000000 }; /* the kernel looks at CPU timers at its own ticks, which may be further apart */

static uintptr_t text_begin = UINTPTR_MAX, text_end; /* of the malloc library: all of its executable segments */
static _Atomic uint64_t samples, inside;

static void take_sample(int number, siginfo_t *info, void *context)
{
    uintptr_t at = (uintptr_t)CONTEXT_INSTRUCTION((const ucontext_t *)context);
    (void)number, (void)info;
    atomic_fetch_add_explicit(&samples, 1, memory_order_relaxed);
    if (at >= text_begin && at < text_end)
        atomic_fetch_add_explicit(&inside, 1, memory_order_relaxed);
}

/* Whether a word of LD_PRELOAD names the file; the loader replaces $LIB in the word. */
static int is_named(const char *file, const char *word, size_t length)
{
    const char *token = memmem(word, length, "$LIB", 4);
    size_t before = token != NULL ? (size_t)(token - word) : length, after = token != NULL ? length - before - 4 : 0;
    size_t whole = strlen(file);
    if (token == NULL ? whole != length : whole < before + after)
        return 0;
    return strncmp(file, word, before) == 0 && strncmp(file + whole - after, word + length - after, after) == 0;
}

/* Find the executable segments of the first library in LD_PRELOAD. The address of malloc would not tell: in a program that
 * is not position-independent it may be an entry of the program's PLT. */
static int find_text(struct dl_phdr_info *object, size_t size, void *preloaded)
{
    const char *names = preloaded;
    size_t length = strcspn(names, ": ");
    (void)size;
    if (length == 0 || !is_named(object->dlpi_name, names, length))
        return 0;
    for (int i = 0; i < object->dlpi_phnum; i++) {
        const ElfW(Phdr) *segment = &object->dlpi_phdr[i];
        if (segment->p_type == PT_LOAD && (segment->p_flags & PF_X) != 0) {
            uintptr_t begin = object->dlpi_addr + segment->p_vaddr, end = begin + segment->p_memsz;
            text_begin = begin < text_begin ? begin : text_begin;
            text_end = end > text_end ? end : text_end;
        }
    }
    return 1;
}

static void start_timer(void)
{
    struct sigevent event = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGPROF};
    struct itimerspec period = {{0, PERIOD_NS}, {0, PERIOD_NS}};
    timer_t timer;
    if (timer_create(CLOCK_PROCESS_CPUTIME_ID, &event, &timer) == 0)
        timer_settime(timer, 0, &period, NULL);
}

/* fork(2): the child has its parent's counts, and no timer. */
static void begin_child(void)
{
    atomic_store(&samples, 0);
    atomic_store(&inside, 0);
    start_timer();
}

__attribute__((constructor)) static void begin(void)
{
    struct sigaction handler = {.sa_sigaction = take_sample, .sa_flags = SA_SIGINFO | SA_RESTART | SA_ONSTACK};
    char *preloaded = getenv("LD_PRELOAD");
    if (preloaded != NULL)
        dl_iterate_phdr(find_text, preloaded);
    if (text_end == 0 || sigaction(SIGPROF, &handler, NULL) != 0)
        return;
    pthread_atfork(NULL, NULL, begin_child);
    start_timer();
}

__attribute__((destructor)) static void end(void)
{
    const char *path = getenv("HEAPSMITH_MALLOC_SHARE");
    int file = path != NULL ? open(path, O_WRONLY | O_APPEND | O_CLOEXEC) : -1;
    if (file < 0)
        return;
    dprintf(file, "%lu %lu\n", atomic_load(&samples), atomic_load(&inside));
    close(file);
}
