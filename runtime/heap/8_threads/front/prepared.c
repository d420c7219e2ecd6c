/* Prepared, slow paths, which a fault of the class's function takes the thread to.
 *
 * The functions are leaves without a frame, from -O1 on: where they fault, the stack is as when they were called. So the handler
 * lets the thread go on in a slow path as if that had been called. */
#include "8_threads/front/prepared.h"

#include "1_base/text.h"
#include "2_system/os.h"
#include "6_slabs/store.h"
#include "8_threads/large.h"
#include "8_threads/thread.h"

#include <signal.h>
#include <stdlib.h>
#include <ucontext.h>
#include <unistd.h>

/* Emitted: the functions of each class, those of frees from 1 on. */
extern void *(*const *const hs_allocates)(void);
extern void (*const *const hs_frees)(void *block);

void front_heap_made(struct heap *heap)
{
    for (unsigned class = 0; class < CLASS_COUNT; class++) {
        void **slots = stack_slots(heap, class);
        if (!os_reserve(slots - GUARD_SLOTS, PAGE_BYTES) || !os_reserve(slots + hs_class[class].capacity, PAGE_BYTES))
            abort();
    }
}

static void used_up(unsigned class)
{
    char line[TEXT_LINE];
    struct text out = text_to(STDERR_FILENO, line, sizeof line);
    text_string(&out, "heapsmith: no block of ");
    text_number(&out, hs_class[class].stride);
    text_string(&out, " bytes is left of the ");
    text_number(&out, hs_class[class].refill);
    text_string(&out, " that were prepared for the thread (front \"prepared\")\n");
    text_end(&out);
    abort();
}

static void *slow_alloc(unsigned class)
{
    struct heap *heap = hs_heap_of(hs_self);
    if (heap == &hs_no_heap)
        return hs_alloc_run_for(class);
    (void)hs_filled_meanwhile(heap, class);
    if (stack_held(heap, class) > 0) { /* it had no heap */
        count_checked(&heap->count[class].hit0);
        return stack_newest(heap, class);
    }
    if (heap->front[class].head > 0) /* it was filled */
        used_up(class);
    heap->front[class].head = 1;
    void **slots = stack_slots(heap, class);
    uint32_t taken = hs_take(heap, class, slots, hs_class[class].refill);
    if (taken == 0)
        return hs_alloc_run_for(class);
    stack_hold(heap, class, taken - 1);
    return slots[taken - 1];
}

static void slow_free(unsigned class, void *block)
{
    struct heap *heap = hs_self;
    if (heap == &hs_no_heap) {
        hs_free_without_heap(class, block);
        return;
    }
    count_own(&heap->count[class].direct, 1);
    hs_give_all(heap, class, &block, 1);
    on_flush_ended(heap);
}

enum { LONGEST = 128 }; /* bytes of code of a class's function, at most */

/* The class whose function has the instruction; CLASS_COUNT if none has. */
static unsigned class_at(uintptr_t instruction, bool *frees)
{
    uintptr_t nearest = instruction - LONGEST;
    unsigned found = CLASS_COUNT;
    for (unsigned class = 0; class < CLASS_COUNT; class++) {
        const uintptr_t start[2] = { (uintptr_t)hs_allocates[class], (uintptr_t)hs_frees[1 + class] };
        for (unsigned kind = 0; kind < 2; kind++)
            if (start[kind] <= instruction && start[kind] > nearest) {
                nearest = start[kind];
                found = class;
                *frees = kind == 1;
            }
    }
    return found;
}

static void on_fault(int number, siginfo_t *fault, void *context)
{
    ucontext_t *at = context;
    bool frees = false;
    const unsigned class = class_at((uintptr_t)CONTEXT_INSTRUCTION(at), &frees);
    if (class == CLASS_COUNT || fault->si_code <= 0) {
        struct sigaction action = { .sa_handler = SIG_DFL };
        sigaction(number, &action, NULL);
        if (fault->si_code <= 0) /* sent by kill(2): it waits until the handler has returned */
            raise(number);
        return;
    }
    if (frees)
        CONTEXT_SECOND(at) = CONTEXT_FIRST(at);
    CONTEXT_FIRST(at) = class;
    CONTEXT_INSTRUCTION(at) = frees ? (uintptr_t)slow_free : (uintptr_t)slow_alloc;
}

__attribute__((constructor(101))) static void catch_faults(void)
{
    struct sigaction action = { .sa_sigaction = on_fault, .sa_flags = SA_SIGINFO | SA_ONSTACK };
    sigemptyset(&action.sa_mask);
    sigaction(SIGSEGV, &action, NULL);
}
