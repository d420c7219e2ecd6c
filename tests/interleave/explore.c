/* The search: coroutines, states met, deadlock, states that cannot end any more, and the way to a failure. */
#define _GNU_SOURCE
#include "world.h"

#include <errno.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { DEPTH = 4000, REGIONS = 24 };

struct world world;
int running = -1;
const struct explored *explored;

/* Memory that the threads share; part of the state. */
static struct region {
    const char *name;
    char *start;
    size_t bytes;
    int first; /* its first word; a region begins a word wherever it lies */
} regions[REGIONS];
static int region_count;
static size_t shared_words;

static void *explorer_top; /* of the explorer's own stack, while a thread runs */
static char *local_start;  /* the program's thread-local variables; each of the case's threads has its own values */
static size_t local_bytes;
static uint8_t local_first[TLS_BYTES];
static int looking_thread = -1, looking_view;

/* The way to the present state. */
static struct step {
    int thread, choice, choices;
    struct request request;
} way[DEPTH];
static int depth;

/* A state met. Tarjan's strongly connected components (SIAM J. Comput. 1(2), 1972) tell which states can end. */
struct state {
    uint64_t hash[2];
    uint32_t index, low;
    bool open, ends;
    double ways; /* to an end, loops not counted */
};
static struct state *states; /* by number */
static uint32_t *table;      /* open-addressed: 1 + number */
static size_t state_count, state_room, transitions, loops;
static uint32_t *open_states;
static size_t open_count;
static uint64_t outcomes[OUTCOMES];
static int outcome_count;

/* rbx, rbp, r12-r15 are the callee's to keep (System V ABI): all of a stopped thread is on its stack. */
__attribute__((naked, noinline)) static void change_stacks(void **from __attribute__((unused)),
                                                           void *to __attribute__((unused)))
{
    __asm__("push %rbp\n push %rbx\n push %r12\n push %r13\n push %r14\n push %r15\n"
            "mov %rsp, (%rdi)\n mov %rsi, %rsp\n"
            "pop %r15\n pop %r14\n pop %r13\n pop %r12\n pop %rbx\n pop %rbp\n ret");
}

void share(const char *name, void *start, size_t bytes)
{
    regions[region_count++] = (struct region){ name, start, bytes, (int)shared_words };
    shared_words += (bytes + 7) / 8;
    expect(shared_words <= WORDS && region_count < REGIONS, "too much is shared");
}

static const struct region *region_of(const void *address)
{
    for (int index = 0; index < region_count; index++)
        if ((size_t)((const char *)address - regions[index].start) < regions[index].bytes)
            return &regions[index];
    return NULL;
}

int word_of(const void *address)
{
    const struct region *region = region_of(address);
    if (region == NULL) {
        printf("address %p\n", address);
        fail("memory that the case does not share is used");
    }
    return region->first + (int)(((const char *)address - region->start) / 8);
}

bool is_private(const void *address)
{
    return (size_t)((const uint8_t *)address - world.stack[running]) < STACK_BYTES ||
           (size_t)((const char *)address - local_start) < local_bytes || address == (const void *)&errno;
}

static void print_step(int number, const struct step *step)
{
    static const char *const kinds[] = { "load", "store", "exchange", "add", "compare-and-swap", "weak compare-and-swap",
                                         "futex wait", "wakes up by itself", "wakes up", "futex wake",
                                         "goes on alone", "yields" };
    const struct request *request = &step->request;
    const struct region *region = region_of(request->address);
    printf("  %3d  thread %d  %s %s+%zu value %#lx expected %#lx order %lu", number, step->thread, kinds[request->kind],
           region ? region->name : "?", region ? (size_t)((const char *)request->address - region->start) : 0, request->value,
           request->expected, request->order);
    if (step->choices > 1)
        printf("  (choice %d of %d)", step->choice, step->choices);
    putchar('\n');
}

void fail(const char *words)
{
    if (running >= 0) /* a thread's stack is too small to print from */
        ask((struct request){ .kind = FAILED, .address = words });
    printf("%s: FAILED: %s\n", explored ? explored->name : "?", words);
    for (int index = depth > 100 ? depth - 100 : 0; index < depth; index++)
        print_step(index, &way[index]);
    fflush(stdout);
    _Exit(1);
}

uint64_t last_written(const uint64_t *word)
{
    return world.thread[running].written[memory_history(word, sizeof *word)];
}

void go_alone(void)
{
    ask((struct request){ .kind = ALONE });
}

int views(int thread, const void *word, size_t bytes)
{
    struct request load = { .kind = LOAD, .address = word, .bytes = bytes };
    return world.thread[thread].request.kind == DONE ? 0 : memory_choices(thread, &load);
}

void look_as(int thread, int view)
{
    looking_thread = thread;
    looking_view = view;
}

void *virtual_thread_pointer(void)
{
    int thread = running >= 0 ? running : looking_thread;
    return thread >= 0 ? &world.thread[thread] : NULL;
}

uint64_t look(const void *address, uint64_t bytes)
{
    uint64_t value = 0;
    memcpy(&value, address, bytes);
    return looking_thread >= 0 && looking_view >= 0 ? memory_view(looking_thread, address, bytes, looking_view) : value;
}

void ask(struct request request)
{
    struct thread *thread = &world.thread[running];
    thread->request = request;
    change_stacks(&thread->top, explorer_top);
}

/* A thread goes on to its next request that others can notice; plain accesses are looked at on the way. */
static void go_on(int number)
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
    expect(stack[0] == 0 && stack[64] == 0 && (uint8_t *)thread->top > stack + 128, "STACK_BYTES are too few");
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

static void start(int number)
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
static int choices_of(int number)
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
        if (other != number)
            world.thread[other].request = (struct request){ .kind = DONE };
    for (int other = 0; other < explored->threads; other++)
        if (other != number)
            memory_leave(other);
}

/* The kernel compares and queues under its own lock, with full barriers on both sides (futex(2), kernel/futex): it sees the
 * newest value. Returns whether the thread goes on. */
static bool perform(int number, int choice)
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
    else if (request->kind <= CAS_WEAK)
        memory_perform(number, request, choice);
    return true;
}

static void mix(uint64_t hash[2], const void *bytes, size_t count)
{
    for (size_t at = 0; at < count; at += 8) {
        uint64_t value = *(const uint64_t *)((const char *)bytes + at);
        __uint128_t one = (__uint128_t)(hash[0] ^ value) * UINT64_C(0x9E3779B97F4A7C15);
        __uint128_t two = (__uint128_t)(hash[1] + value) * UINT64_C(0xD6E8FEB86659FD93);
        hash[0] = (uint64_t)one ^ (uint64_t)(one >> 64) ^ hash[1];
        hash[1] = (uint64_t)two ^ (uint64_t)(two >> 64) ^ (hash[0] << 1);
    }
}

static void save_shared(uint64_t *to)
{
    memset(to, 0, shared_words * sizeof *to);
    for (int index = 0; index < region_count; index++)
        memcpy(to + regions[index].first, regions[index].start, regions[index].bytes);
}

static void restore_shared(const uint64_t *from)
{
    for (int index = 0; index < region_count; index++)
        memcpy(regions[index].start, from + regions[index].first, regions[index].bytes);
}

/* 128 bits stand for a state: two different ones are taken for one with probability 2^-80 among 2^24. */
static void hash_world(uint64_t hash[2])
{
    hash[0] = hash[1] = 1;
    const struct memory *memory = &world.memory;
    mix(hash, memory->knows, sizeof memory->knows);
    mix(hash, memory->stores, sizeof memory->stores);
    for (int number = 0; number < ATOMICS; number++)
        mix(hash, memory->history[number], memory->stores[number] * sizeof(struct store));
    for (int number = 0; number < explored->threads; number++) {
        const struct thread *thread = &world.thread[number];
        mix(hash, thread, sizeof *thread);
        mix(hash, thread->top, (size_t)(world.stack[number] + STACK_BYTES - (uint8_t *)thread->top));
    }
    uint64_t shared[WORDS];
    save_shared(shared);
    mix(hash, shared, shared_words * sizeof *shared);
}

static void *roomy(void *old, size_t bytes)
{
    void *grown = realloc(old, bytes);
    expect(grown != NULL, "out of memory");
    return grown;
}

static uint32_t *slot_of(const uint64_t hash[2])
{
    size_t slot = hash[0] & (2 * state_room - 1);
    while (table[slot] != 0 && memcmp(states[table[slot] - 1].hash, hash, 16) != 0)
        slot = (slot + 1) & (2 * state_room - 1);
    return &table[slot];
}

static void grow(void)
{
    state_room = state_room ? 2 * state_room : 1024;
    states = roomy(states, state_room * sizeof *states);
    open_states = roomy(open_states, state_room * sizeof *open_states);
    free(table);
    table = calloc(2 * state_room, sizeof *table);
    expect(table != NULL, "out of memory");
    for (uint32_t number = 0; number < state_count; number++)
        *slot_of(states[number].hash) = number + 1;
}

static void note_end(void)
{
    uint64_t outcome = explored->finished ? explored->finished() : 0;
    for (int index = 0; index < outcome_count; index++)
        if (outcomes[index] == outcome)
            return;
    expect(outcome_count < OUTCOMES, "more outcomes than OUTCOMES");
    outcomes[outcome_count++] = outcome;
}

static uint32_t explore(void);

/* One step, and all that can follow it. */
static void follow_step(uint32_t number, int thread, int choice, int choices)
{
    expect(depth < DEPTH, "a way longer than DEPTH");
    way[depth++] = (struct step){ thread, choice, choices, world.thread[thread].request };
    if (perform(thread, choice))
        go_on(thread);
    uint32_t next = explore();
    depth--;
    transitions++;
    struct state *state = &states[number];
    loops += states[next].open && states[next].index <= state->index;
    if (states[next].open && states[next].low < state->low)
        state->low = states[next].low;
    state->ends |= states[next].ends;
    state->ways += states[next].ways;
}

/* All steps that the present state allows; false if there are none. */
static bool follow(uint32_t number)
{
    struct world *before = roomy(NULL, sizeof *before);
    uint64_t shared[WORDS];
    *before = world;
    save_shared(shared);
    bool any = false;
    for (int thread = 0; thread < explored->threads; thread++) {
        for (int choice = 0, choices = choices_of(thread); choice < choices; choice++) {
            follow_step(number, thread, choice, choices);
            world = *before;
            restore_shared(shared);
            any = true;
        }
    }
    free(before);
    return any;
}

/* The component of the state is complete: if one of its states can end, all can. */
static void close_component(uint32_t number)
{
    size_t first = open_count;
    bool can_end = false;
    do
        can_end |= states[open_states[--first]].ends;
    while (open_states[first] != number);
    expect(can_end, "livelock: from here no thread can ever end");
    for (; open_count > first; open_count--) {
        states[open_states[open_count - 1]].open = false;
        states[open_states[open_count - 1]].ends = true;
    }
}

static uint32_t explore(void)
{
    uint64_t hash[2];
    if (explored->always)
        explored->always();
    look_as(-1, 0);
    hash_world(hash);
    if (2 * state_count >= state_room)
        grow();
    uint32_t *slot = slot_of(hash);
    if (*slot != 0)
        return *slot - 1;
    uint32_t number = (uint32_t)state_count++;
    *slot = number + 1;
    states[number] = (struct state){ { hash[0], hash[1] }, number, number, true, false, 0 };
    open_states[open_count++] = number;
    if (!follow(number)) {
        for (int thread = 0; thread < explored->threads; thread++)
            expect(world.thread[thread].request.kind == DONE, "deadlock: no thread can take a step");
        note_end();
        states[number].ends = true;
        states[number].ways = 1;
    }
    if (states[number].low == number)
        close_component(number);
    return number;
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

static int by_value(const void *one, const void *other)
{
    uint64_t a = *(const uint64_t *)one, b = *(const uint64_t *)other;
    return (a > b) - (a < b);
}

int main(int count, char **words)
{
    for (int index = 0; count == 2 && cases[index].name != NULL; index++)
        if (strcmp(cases[index].name, words[1]) == 0)
            explored = &cases[index];
    if (explored == NULL)
        return 2;
    dl_iterate_phdr(find_local, NULL);
    expect(local_bytes <= TLS_BYTES, "more thread-local variables than TLS_BYTES");
    memcpy(local_first, local_start, local_bytes);
    memory_init();
    explored->setup();
    for (int thread = explored->threads; thread < THREADS; thread++)
        world.thread[thread].request.kind = DONE;
    errno = 0;
    for (int thread = 0; thread < explored->threads; thread++)
        start(thread);
    uint32_t root = explore();
    qsort(outcomes, (size_t)outcome_count, sizeof *outcomes, by_value);
    printf("{\"states\": %zu, \"transitions\": %zu, \"executions\": %.0f, \"loops\": %zu, \"outcomes\": [", state_count,
           transitions, loops == 0 ? states[root].ways : -1.0, loops);
    for (int index = 0; index < outcome_count; index++)
        printf("%s%lu", index ? ", " : "", outcomes[index]);
    puts("]}");
    return 0;
}
