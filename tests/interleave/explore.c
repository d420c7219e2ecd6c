/* The search: states met, deadlock, states that cannot end any more, and the way to a failure. */
#include "world.h"

#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { DEPTH = 4000 };

const struct explored *explored;

bool is_early;

static int looking_thread = -1, looking_view;
static jmp_buf *unreported; /* where a mistake goes that is not reported */

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

static void print_step(int number, const struct step *step)
{
    static const char *const kinds[] = { "load", "store", "exchange", "add", "compare-and-swap", "weak compare-and-swap", "fence",
                                         "futex wait", "wakes up by itself", "wakes up", "futex wake",
                                         "goes on alone", "yields", "stores early" };
    const struct request *request = &step->request;
    size_t offset;
    const char *name = name_of(request->address, &offset);
    printf("  %3d  thread %d  %s %s+%zu value %#lx expected %#lx order %lu", number, step->thread, kinds[request->kind],
           name, offset, request->value, request->expected, request->order);
    if (step->choices > 1)
        printf("  (choice %d of %d)", step->choice, step->choices);
    putchar('\n');
}

void suffice(bool holds, const char *words)
{
    if (holds)
        return;
    unreported = NULL;
    fail(words);
}

void fail(const char *words)
{
    if (running >= 0) /* a thread's stack is too small to print from */
        ask((struct request){ .kind = FAILED, .address = words });
    if (unreported != NULL)
        longjmp(*unreported, 1);
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

/* 128 bits stand for a state: two different ones are taken for one with probability 2^-80 among 2^24. */
static void hash_world(uint64_t hash[2])
{
    hash[0] = hash[1] = 1;
    const struct memory *memory = &world.memory;
    mix(hash, memory->knows, sizeof memory->knows);
    mix(hash, memory->stores, sizeof memory->stores);
    mix(hash, memory->fenced, sizeof memory->fenced);
    for (int number = 0; number < ATOMICS; number++)
        mix(hash, memory->history[number], memory->stores[number] * sizeof(struct store));
    for (int number = 0; number < explored->threads; number++) {
        const struct thread *thread = &world.thread[number];
        mix(hash, thread, sizeof *thread);
        mix(hash, thread->top, (size_t)(world.stack[number] + STACK_BYTES - (uint8_t *)thread->top));
    }
    uint64_t shared[WORDS];
    save_shared(shared);
    mix(hash, shared, sizeof shared);
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

/* What the thread does by `does`; false where that is a mistake, or gives false. */
static bool attempt(bool (*does)(int thread, const void *with), int thread, const void *with)
{
    jmp_buf here, *before = unreported;
    volatile bool done = false;
    unreported = &here;
    if (setjmp(here) == 0)
        done = does(thread, with);
    unreported = before;
    return done;
}

static bool does_step(int thread, const void *choice)
{
    if (perform(thread, *(const int *)choice))
        go_on(thread);
    return true;
}

/* What seems a mistake while a store is early need not be one. */
static bool does_look(int thread, const void *unused)
{
    (void)thread, (void)unused;
    explored->always();
    return true;
}

bool try_step(int thread, int choice)
{
    return attempt(does_step, thread, &choice);
}

struct at {
    const struct store_ahead *store;
    uint64_t place;
};

static bool does_store(int thread, const void *at)
{
    return memory_store_early(thread, ((const struct at *)at)->store, ((const struct at *)at)->place);
}

static bool all_come(void)
{
    for (int thread = 0; thread < explored->threads; thread++)
        if (!comes(thread))
            return false;
    return true;
}

/* A thread whose store was seen early must still be able to come to it. A mistake counts if all such threads could before it:
 * else there is no such execution. */
static bool take_step(int thread, int choice, const struct world *before, const uint64_t *shared)
{
    if (!any_early())
        return does_step(thread, &choice);
    bool owes = world.thread[thread].early.made;
    if (try_step(thread, choice))
        return !owes || comes(thread);
    world = *before;
    restore_shared(shared);
    return !owes && all_come() && does_step(thread, &choice);
}

static uint32_t explore(void);

static void begin_step(struct step step)
{
    suffice(depth < DEPTH, "a way longer than DEPTH");
    way[depth++] = step;
}

/* All that can follow a step that was taken from a state. */
static void follow_step(uint32_t number)
{
    uint32_t next = explore();
    transitions++;
    struct state *state = &states[number];
    loops += states[next].open && states[next].index <= state->index;
    if (states[next].open && states[next].low < state->low)
        state->low = states[next].low;
    state->ends |= states[next].ends;
    state->ways += states[next].ways;
}

/* The thread's next stores that others may see already, each at each of its places. */
static bool follow_early(uint32_t number, int thread, const struct world *before)
{
    struct store_ahead list[AHEAD_STORES];
    uint64_t places[STORES], shared[WORDS];
    bool any = false;
    save_shared(shared);
    for (int left = stores_ahead(thread, list); left-- > 0;) {
        int count = memory_places(thread, memory_history(list[left].address, list[left].bytes), places);
        for (int at = 0; at < (list[left].modifies ? 1 : count); at++) {
            struct request request = { .kind = EARLY, .address = list[left].address, .value = list[left].value };
            begin_step((struct step){ thread, at, count, request });
            if (attempt(does_store, thread, &(struct at){ &list[left], places[at] })) {
                follow_step(number);
                any = true;
            }
            depth--;
            world = *before;
            restore_shared(shared);
        }
    }
    return any;
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
        struct step step = { thread, 0, choices_of(thread), before->thread[thread].request };
        for (; step.choice < step.choices; step.choice++) {
            begin_step(step);
            if (take_step(thread, step.choice, before, shared)) {
                follow_step(number);
                any = true;
            }
            depth--;
            world = *before;
            restore_shared(shared);
        }
        any |= follow_early(number, thread, before);
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

static void end_here(uint32_t number)
{
    for (int thread = 0; thread < explored->threads; thread++)
        expect(world.thread[thread].request.kind == DONE, "deadlock: no thread can take a step");
    note_end();
    states[number].ways = 1;
}

static uint32_t explore(void)
{
    uint64_t hash[2];
    if (explored->always && !any_early())
        explored->always();
    else if (explored->always)
        attempt(does_look, 0, NULL);
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
    bool owed = any_early();
    if (!follow(number)) {
        states[number].ends = true;
        if (!owed) /* else its thread cannot come to the store any more: no execution */
            end_here(number);
    }
    if (states[number].low == number)
        close_component(number);
    return number;
}

static int by_value(const void *one, const void *other)
{
    uint64_t a = *(const uint64_t *)one, b = *(const uint64_t *)other;
    return (a > b) - (a < b);
}

int main(int count, char **words)
{
    is_early = count == 3 && strcmp(words[2], "early") == 0;
    for (int index = 0; count == 2 + is_early && cases[index].name != NULL; index++)
        if (strcmp(cases[index].name, words[1]) == 0)
            explored = &cases[index];
    if (explored == NULL)
        return 2;
    threads_init();
    memory_init();
    explored->setup();
    for (int thread = explored->threads; thread < THREADS; thread++)
        world.thread[thread].request.kind = DONE;
    for (int thread = 0; thread < explored->threads; thread++)
        start_thread(thread);
    uint32_t root = explore();
    qsort(outcomes, (size_t)outcome_count, sizeof *outcomes, by_value);
    printf("{\"states\": %zu, \"transitions\": %zu, \"executions\": %.0f, \"loops\": %zu, \"outcomes\": [", state_count,
           transitions, loops == 0 ? states[root].ways : -1.0, loops);
    for (int index = 0; index < outcome_count; index++)
        printf("%s%lu", index ? ", " : "", outcomes[index]);
    puts("]}");
    return 0;
}
