/* A case's threads: coroutines, what each may do next, and futexes. */
#define _GNU_SOURCE
#include "world.h"

#include <errno.h>
#include <link.h>
#include <string.h>

struct world world;
int running = -1;

static void *explorer_top; /* of the explorer's own stack, while a thread runs */
static char *local_start;  /* the program's thread-local variables; each of the case's threads has its own values */
static size_t local_bytes;
static uint8_t local_first[TLS_BYTES];

/* rbx, rbp, r12-r15 are the callee's to keep (System V ABI): all of a stopped thread is on its stack. */
__attribute__((naked, noinline)) static void change_stacks(void **from __attribute__((unused)),
                                                           void *to __attribute__((unused)))
{
    __asm__("push %rbp\n push %rbx\n push %r12\n push %r13\n push %r14\n push %r15\n"
            "mov %rsp, (%rdi)\n mov %rsi, %rsp\n"
            "pop %r15\n pop %r14\n pop %r13\n pop %r12\n pop %rbx\n pop %rbp\n ret");
}

bool is_private(const void *address)
{
    return (size_t)((const uint8_t *)address - world.stack[running]) < STACK_BYTES ||
           (size_t)((const char *)address - local_start) < local_bytes || address == (const void *)&errno;
}

void ask(struct request request)
{
    struct thread *thread = &world.thread[running];
    thread->request = request;
    change_stacks(&thread->top, explorer_top);
}

void go_alone(void)
{
    ask((struct request){ .kind = ALONE });
}

/* A thread goes on to its next request that others can notice; plain accesses are looked at on the way. */
void go_on(int number)
{
    struct thread *thread = &world.thread[number];
    memcpy(local_start, thread->local, local_bytes);
    do {
        running = number;
        change_stacks(&explorer_top, thread->top);
        running = -1;
        if (thread->request.kind == FAILED)
            fail(thread->request.address);
        expect(errno == 0, "errno is not as it was");
        if (thread->request.kind == READ || thread->request.kind == WRITE)
            memory_plain(number, &thread->request);
    } while (thread->request.kind == READ || thread->request.kind == WRITE);
    memcpy(thread->local, local_start, local_bytes);
    uint8_t *stack = world.stack[number];
    suffice(stack[0] == 0 && stack[64] == 0 && (uint8_t *)thread->top > stack + 128, "STACK_BYTES are too few");
    memset(stack, 0, (size_t)((uint8_t *)thread->top - stack));
    if (thread->request.kind == DONE)
        memory_leave(number);
}

static void enter(void)
{
    explored->body(running);
    ask((struct request){ .kind = DONE });
    __builtin_unreachable();
}

void start_thread(int number)
{
    struct thread *thread = &world.thread[number];
    void **top = (void **)(world.stack[number] + STACK_BYTES - 8); /* as after a call: 8 off 16 */
    *--top = (void *)enter;
    thread->top = top - 6; /* the registers that change_stacks pops */
    memcpy(thread->local, local_first, local_bytes);
    go_on(number);
}

static bool can_go_on(int number)
{
    const struct thread *thread = &world.thread[number];
    uint64_t kind = thread->request.kind;
    bool idle = kind == YIELD && thread->yields == YIELDS;
    return !idle && kind != DONE && (kind != ASLEEP || thread->surprises < (uint64_t)explored->surprises);
}

/* A thread that has yielded YIELDS times waits until no other can go on but such as it; of these the first goes on. */
static bool must_wait(int number)
{
    if (world.thread[number].request.kind != YIELD || can_go_on(number))
        return false;
    bool waits = false;
    for (int other = 0; other < explored->threads; other++)
        waits |= can_go_on(other) || (other < number && world.thread[other].request.kind == YIELD);
    return waits;
}

/* How many ways the thread's next step can go; 0: it cannot take one. */
int choices_of(int number)
{
    const struct request *request = &world.thread[number].request;
    if (request->kind == DONE || must_wait(number))
        return 0;
    if (request->kind == ASLEEP)
        return world.thread[number].surprises < (uint64_t)explored->surprises;
    int sleepers = 0;
    if (request->kind == WAKE)
        for (int other = 0; other < explored->threads; other++)
            sleepers += world.thread[other].request.kind == ASLEEP && world.thread[other].request.address == request->address;
    if (request->kind <= CAS_WEAK)
        return memory_choices(number, request);
    return sleepers > 0 ? sleepers : 1;
}

static void wake(const struct request *request, int choice)
{
    for (int other = 0; other < explored->threads; other++) {
        struct request *asleep = &world.thread[other].request;
        if (asleep->kind == ASLEEP && asleep->address == request->address && choice-- == 0) {
            asleep->kind = WOKEN;
            return;
        }
    }
}

/* Stores become visible in the end: to a thread that has waited for all others, now. */
static void yield(int number)
{
    if (world.thread[number].yields == YIELDS)
        memory_catch_up(number);
    else
        world.thread[number].yields++;
}

static void end_others(int number)
{
    for (int other = 0; other < explored->threads; other++)
        if (other != number) {
            world.thread[other].request = (struct request){ .kind = DONE };
            world.thread[other].early = (struct early){ 0 }; /* seen, and will never be made */
        }
    for (int other = 0; other < explored->threads; other++)
        if (other != number)
            memory_leave(other);
}

/* The kernel compares and queues under its own lock, with full barriers on both sides (futex(2), kernel/futex): it sees the
 * newest value. Returns whether the thread goes on. */
bool perform(int number, int choice)
{
    struct request *request = &world.thread[number].request;
    if (request->kind == WAIT && *(const uint32_t *)request->address == request->expected) {
        request->kind = ASLEEP;
        return false;
    }
    if (request->kind == ASLEEP)
        world.thread[number].surprises++;
    else if (request->kind == WAKE)
        wake(request, choice);
    else if (request->kind == YIELD)
        yield(number);
    else if (request->kind == ALONE)
        end_others(number);
    else if (request->kind == FENCE)
        memory_fence(number);
    else if (request->kind <= CAS_WEAK)
        memory_perform(number, request, choice);
    return true;
}

static int find_local(struct dl_phdr_info *info, size_t bytes, void *with)
{
    (void)bytes, (void)with;
    for (int index = 0; index < info->dlpi_phnum; index++)
        if (info->dlpi_phdr[index].p_type == PT_TLS) {
            local_start = info->dlpi_tls_data;
            local_bytes = (info->dlpi_phdr[index].p_memsz + 7) & ~(size_t)7;
        }
    return 1; /* the first is the program */
}

void threads_init(void)
{
    dl_iterate_phdr(find_local, NULL);
    expect(local_bytes <= TLS_BYTES, "more thread-local variables than TLS_BYTES");
    memcpy(local_first, local_start, local_bytes);
    errno = 0;
}
