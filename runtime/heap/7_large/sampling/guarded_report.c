/* Reports of guarded blocks (guarded_report.h): async-signal-safe, once in a process. The first handler goes on to what the program
 * had when it was installed; the second, which is another function, to the handler that the program put in the place of the first.
 * So a program's handler that goes on to the one before, or brings it back, meets no circle. */
#define _GNU_SOURCE
#include "7_large/sampling/guarded_report.h"

#include "1_base/handler.h"
#include "1_base/object.h"
#include "1_base/text.h"
#include "2_system/lock.h"
#include "7_large/sampling/guarded_slots.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

static void report_number(struct text *out, const char *words, uint64_t number)
{
    text_string(out, words);
    text_number(out, number);
}

/* The file and the offset in it, which addr2line(1) turns into a line. */
static void report_frame(struct text *out, unsigned number, uintptr_t place)
{
    struct object object;
    report_number(out, "    #", number);
    text_string(out, " ");
    text_hex(out, place, 1);
    if (object_at((const void *)place, &object) && object.path[0] != '\0') {
        text_string(out, " (");
        text_string(out, object.path);
        text_string(out, "+");
        text_hex(out, place - object.start + object.offset, 1);
        text_string(out, ")");
    }
    text_string(out, "\n");
}

static void report_stack(struct text *out, const char *what, uint32_t thread, const struct call_stack *stack)
{
    text_string(out, "  ");
    text_string(out, what);
    report_number(out, " by thread ", thread);
    text_string(out, stack->depth > 0 ? ":\n" : "; its call stack is not known\n");
    for (unsigned index = 0; index < stack->depth; index++)
        report_frame(out, index, stack->frame[index] - 1);
}

/* Where the address lies, as seen from the block. */
static void report_place(struct text *out, uintptr_t address, const struct guarded_slot *slot)
{
    const uintptr_t end = slot->block + slot->bytes;
    if (address < slot->block)
        report_number(out, ", ", slot->block - address);
    else
        report_number(out, ", ", address < end ? address - slot->block : address - end);
    text_string(out, address < slot->block ? " bytes before" : address < end ? " bytes into" : " bytes behind");
    report_number(out, " a block of ", slot->bytes);
    text_string(out, " bytes at ");
    text_hex(out, slot->block, 1);
    text_string(out, "\n");
}

static void report_misuse(const char *kind, uintptr_t address, const char *access, const struct call_stack *stack)
{
    char line[TEXT_LINE];
    struct text out = text_to(STDERR_FILENO, line, sizeof line);
    const struct guarded_slot *slot = guarded_meant(address);
    text_string(&out, "heapsmith: ");
    text_string(&out, kind);
    text_string(&out, ": ");
    text_hex(&out, address, 1);
    if (slot->state == GUARDED_NEVER)
        text_string(&out, ", near no block\n");
    else
        report_place(&out, address, slot);
    report_stack(&out, access, (uint32_t)syscall(SYS_gettid), stack);
    if (slot->state == GUARDED_FREED)
        report_stack(&out, "freed", slot->freed_by, &slot->freed);
    if (slot->state != GUARDED_NEVER)
        report_stack(&out, "allocated", slot->allocated_by, &slot->allocated);
    text_end(&out);
}

/* The first to call may report. */
static bool may_report(void)
{
    static bool reported;
    return !__atomic_exchange_n(&reported, true, __ATOMIC_RELAXED);
}

void guarded_misused(const char *kind, uintptr_t address, const struct call_stack *stack)
{
    if (may_report())
        report_misuse(kind, address, "found", stack);
    abort();
}

static const char *fault_kind(uintptr_t address)
{
    const struct guarded_slot *slot = guarded_meant(address);
    if (slot->state == GUARDED_FREED)
        return GUARDED_AFTER_FREE;
    return slot->state == GUARDED_LIVE && address < slot->block ? GUARDED_UNDERFLOW : GUARDED_OVERFLOW;
}

enum { FAULT_HANDLERS = 2 };
static struct handled handled_before[FAULT_HANDLERS];

/* The default: the instruction faults again, and ends the program as if nobody had looked. A signal that was sent comes again. */
static void fault_by_default(int number, bool sent)
{
    struct sigaction action = { .sa_handler = SIG_DFL };
    sigaction(number, &action, NULL);
    if (sent)
        raise(number);
}

static void on_guard_fault(unsigned which, int number, siginfo_t *fault, void *context)
{
    const int saved = errno;
    const bool sent = fault->si_code <= 0; /* by kill(2) */
    if (!sent && guarded_holds(fault->si_addr) && may_report()) {
        static struct call_stack stack; /* signal stacks are small */
        hs_interrupted_stack(&stack);
        report_misuse(fault_kind((uintptr_t)fault->si_addr), (uintptr_t)fault->si_addr, "accessed", &stack);
    }
    errno = saved;
    if (!handler_goes_on(&handled_before[which], number, fault, context))
        fault_by_default(number, sent); /* a fault that is ignored ends a program too */
}

static void on_guard_fault_first(int number, siginfo_t *fault, void *context)
{
    on_guard_fault(0, number, fault, context);
}

static void on_guard_fault_second(int number, siginfo_t *fault, void *context)
{
    on_guard_fault(1, number, fault, context);
}

static void install_handler(unsigned which, const struct sigaction *found)
{
    const struct sigaction action = handler_before(found, which == 0 ? on_guard_fault_first : on_guard_fault_second);
    handled_before[which].before = *found;
    sigaction(SIGSEGV, &action, NULL);
}

/* One thread at a time; another one that comes meanwhile does not wait. */
void guarded_report_faults(void)
{
    static struct lock installing;
    static unsigned installed;
    struct sigaction found;
    if (__atomic_load_n(&installed, __ATOMIC_RELAXED) == FAULT_HANDLERS || !lock_try(&installing))
        return;
    if (sigaction(SIGSEGV, NULL, &found) == 0 && found.sa_sigaction != on_guard_fault_first && installed < FAULT_HANDLERS) {
        install_handler(installed, &found);
        __atomic_store_n(&installed, installed + 1, __ATOMIC_RELAXED);
    }
    lock_release(&installing);
}
