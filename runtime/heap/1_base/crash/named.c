/* Crash "named". A program that has a handler of its own for a signal keeps it, and gets no line.
 *
 * The handler runs on the thread's signal stack if it has one. It names the fault and goes back: the signal has its default
 * action again by then, so the instruction faults once more and ends the program as if nobody had looked, with its core. */
#include "1_base/crash/named.h"

#include "1_base/arch/arch.h"
#include "1_base/object.h"
#include "1_base/text.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <ucontext.h>
#include <unistd.h>

static struct text begin(char *line, const char *fault)
{
    struct text out = text_to(STDERR_FILENO, line, TEXT_LINE);
    text_string(&out, "heapsmith: ");
    text_string(&out, fault);
    return out;
}

void crash_freed_twice(const void *block)
{
    char line[TEXT_LINE];
    struct text out = begin(line, "double free: ");
    text_hex(&out, (uintptr_t)block, 2 * sizeof block);
    text_string(&out, "\n");
    text_end(&out);
    abort();
}

/* Does the instruction belong to the library? A library that is linked into the program cannot tell. */
static bool is_ours(const void *instruction, struct object *object)
{
    struct object own, program;
    return object_at(instruction, object) && object_at((const void *)(uintptr_t)crash_start, &own) &&
           strcmp(object->path, own.path) == 0 &&
           !(object_at((const void *)getauxval(AT_PHDR), &program) && strcmp(own.path, program.path) == 0);
}

static void on_fault(int number, siginfo_t *fault, void *context)
{
    int saved = errno;
    uintptr_t instruction = (uintptr_t)CONTEXT_INSTRUCTION((const ucontext_t *)context);
    struct object object;
    const bool sent = fault->si_code <= 0; /* by kill(2) */
    if (!sent && is_ours((const void *)instruction, &object)) {
        char line[TEXT_LINE];
        struct text out = begin(line, number == SIGBUS ? "SIGBUS" : "SIGSEGV");
        text_string(&out, " in the heap, at ");
        if (fault->si_code == SI_KERNEL) /* the processor does not tell which */
            text_string(&out, "an address that no program can have");
        else
            text_hex(&out, (uintptr_t)fault->si_addr, 1);
        text_string(&out, ": a freed block was written, a block overflowed, or no block was freed (");
        text_string(&out, object.path);
        text_string(&out, "+");
        text_hex(&out, instruction - object.start + object.offset, 1);
        text_string(&out, ")\n");
        text_end(&out);
    }
    struct sigaction action = { .sa_handler = SIG_DFL };
    sigaction(number, &action, NULL);
    if (sent)
        raise(number); /* it waits until the handler has returned */
    errno = saved;
}

void crash_start(void)
{
    static const int signals[] = { SIGSEGV, SIGBUS };
    for (size_t index = 0; index < sizeof signals / sizeof *signals; index++) {
        struct sigaction action = { .sa_sigaction = on_fault, .sa_flags = SA_SIGINFO | SA_ONSTACK }, found;
        sigemptyset(&action.sa_mask);
        if (sigaction(signals[index], NULL, &found) == 0 && (found.sa_flags & SA_SIGINFO) == 0 && found.sa_handler == SIG_DFL)
            sigaction(signals[index], &action, NULL);
    }
}
