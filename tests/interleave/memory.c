/* The memory model: C11 atomics without load buffering (as RC11 [Lahav et al., PLDI 2017], no seq_cst), plain accesses
 * checked for races.
 *
 * Each atomic word has a history of stores. A thread may read any store not older than what it has seen: itself, or through
 * what it acquired (views, as in Kang et al., POPL 2017, without promises). A read-modify-write reads the newest. Stores
 * join at the history's end: for a word changed by read-modify-writes alone that is every modification order there is. A
 * release store carries the writer's knowledge, a read-modify-write also passes on what it read (release sequences). */
#include "world.h"

#include <string.h>

static int8_t atomic_of[WORDS]; /* the history of a word: 1 + its number; 0: none yet; -1: written plainly. One for all states */
static int atomics;

static uint64_t newest(const void *address, uint64_t bytes)
{
    uint64_t value = 0;
    memcpy(&value, address, bytes);
    return value;
}

int memory_history(const void *address, uint64_t bytes)
{
    int word = word_of(address);
    expect(atomic_of[word] >= 0, "data race: a word that is written plainly is used atomically");
    if (atomic_of[word] == 0) {
        expect(atomics < ATOMICS, "more atomic words than ATOMICS");
        atomic_of[word] = (int8_t)++atomics;
    }
    int number = atomic_of[word] - 1;
    struct memory *memory = &world.memory;
    if (memory->stores[number] == 0) {
        memory->history[number][0] = (struct store){ .value = newest(address, bytes) };
        memory->stores[number] = 1;
    }
    return number;
}

static void join(struct knowledge *to, const struct knowledge *from)
{
    for (int index = 0; index < ATOMICS; index++)
        if (to->seen[index] < from->seen[index])
            to->seen[index] = from->seen[index];
    to->wrote |= from->wrote;
    for (int thread = 0; thread < THREADS; thread++)
        to->read[thread] |= from->read[thread];
}

static bool acquires(uint64_t order)
{
    expect(order == __ATOMIC_RELAXED || order == __ATOMIC_ACQUIRE || order == __ATOMIC_RELEASE || order == __ATOMIC_ACQ_REL,
           "this memory order is not modelled");
    return order == __ATOMIC_ACQUIRE || order == __ATOMIC_ACQ_REL;
}

static bool releases(uint64_t order)
{
    return order == __ATOMIC_RELEASE || order == __ATOMIC_ACQ_REL;
}

static uint64_t read_store(int thread, int number, uint64_t index, uint64_t order)
{
    const struct store *store = &world.memory.history[number][index];
    struct knowledge *knows = &world.memory.knows[thread];
    knows->seen[number] = (uint8_t)index;
    if (acquires(order))
        join(knows, &store->brings);
    return store->value;
}

static void forget_access(struct knowledge *knows, int thread, uint64_t bit, bool write)
{
    *(write ? &knows->wrote : &knows->read[thread]) &= ~bit;
    for (int other = 0; write && other < THREADS; other++)
        knows->read[other] |= bit; /* whoever knows the write knows them */
}

/* A new access is known to its own thread alone: a plain one, or an atomic write of a word that others may read plainly. */
static void note(int thread, int word, bool write)
{
    struct memory *memory = &world.memory;
    uint64_t bit = UINT64_C(1) << word;
    for (int other = 0; other < THREADS; other++)
        forget_access(&memory->knows[other], thread, bit, write);
    for (int number = 0; number < atomics; number++)
        for (uint64_t index = 0; index < memory->stores[number]; index++)
            forget_access(&memory->history[number][index].brings, thread, bit, write);
    *(write ? &memory->knows[thread].wrote : &memory->knows[thread].read[thread]) |= bit;
}

static void check_readers(int thread, int word)
{
    for (int other = 0; other < THREADS; other++)
        expect((world.memory.knows[thread].read[other] >> word & 1) != 0,
               "data race: another thread's read did not happen before this write");
}

static void write_store(int thread, int number, const struct request *request, uint64_t value, bool modifies)
{
    int word = word_of(request->address);
    check_readers(thread, word);
    note(thread, word, true);
    uint64_t index = world.memory.stores[number]++;
    expect(index < STORES, "a history longer than STORES");
    struct store *store = &world.memory.history[number][index];
    struct knowledge *knows = &world.memory.knows[thread];
    knows->seen[number] = (uint8_t)index;
    *store = (struct store){ .value = value };
    if (releases(request->order))
        store->brings = *knows;
    if (modifies)
        join(&store->brings, &store[-1].brings);
    world.thread[thread].written[number] = value;
    memcpy((void *)(uintptr_t)request->address, &value, request->bytes);
}

static void forget_oldest(struct knowledge *knows, int number, uint8_t count)
{
    knows->seen[number] -= knows->seen[number] < count ? knows->seen[number] : count;
}

/* Drops what no thread can read any more, so that equal states are equal bytes. */
static void trim(int number)
{
    struct memory *memory = &world.memory;
    uint8_t least = (uint8_t)(memory->stores[number] - 1);
    for (int thread = 0; thread < explored->threads; thread++)
        if (world.thread[thread].request.kind != DONE && memory->knows[thread].seen[number] < least)
            least = memory->knows[thread].seen[number];
    if (least == 0)
        return;
    memory->stores[number] -= least;
    memmove(memory->history[number], memory->history[number] + least, memory->stores[number] * sizeof(struct store));
    for (int thread = 0; thread < THREADS; thread++)
        forget_oldest(&memory->knows[thread], number, least);
    for (int other = 0; other < ATOMICS; other++)
        for (uint64_t index = 0; index < memory->stores[other]; index++)
            forget_oldest(&memory->history[other][index].brings, number, least);
}

static bool is_cas(uint64_t kind)
{
    return kind == CAS_STRONG || kind == CAS_WEAK;
}

/* The `choice`-th way a compare-and-swap can go: the store it reads; succeeds or not. Choice 0 reads the newest store; a weak
 * one may then fail all the same; older stores that hold another value than the expected one are read by failures. */
static bool cas_choice(int thread, const struct request *request, int number, int choice, uint64_t *index, bool *succeeds)
{
    const struct memory *memory = &world.memory;
    uint64_t last = memory->stores[number] - 1;
    bool equal = memory->history[number][last].value == request->expected;
    *index = last;
    *succeeds = equal && choice == 0;
    if (choice == 0 || (choice == 1 && equal && request->kind == CAS_WEAK))
        return true;
    int left = choice - (equal && request->kind == CAS_WEAK ? 2 : 1);
    for (*index = memory->knows[thread].seen[number]; *index < last; ++*index)
        if (memory->history[number][*index].value != request->expected && left-- == 0)
            return true;
    return false;
}

int memory_choices(int thread, const struct request *request)
{
    int number = memory_history(request->address, request->bytes);
    if (request->kind == LOAD)
        return (int)world.memory.stores[number] - world.memory.knows[thread].seen[number];
    int choices = 1;
    uint64_t index;
    bool succeeds;
    while (is_cas(request->kind) && cas_choice(thread, request, number, choices, &index, &succeeds))
        choices++;
    return choices;
}

static void modify(int thread, struct request *request, int number, uint64_t value)
{
    request->result = read_store(thread, number, world.memory.stores[number] - 1, request->order);
    write_store(thread, number, request, value, true);
}

static void compare(int thread, struct request *request, int number, int choice)
{
    uint64_t index;
    bool succeeds;
    cas_choice(thread, request, number, choice, &index, &succeeds);
    if (succeeds)
        modify(thread, request, number, request->value);
    else
        request->result = read_store(thread, number, index, request->failure_order);
    request->value = succeeds;
}

void memory_perform(int thread, struct request *request, int choice)
{
    int number = memory_history(request->address, request->bytes);
    const struct memory *memory = &world.memory;
    if (request->kind == LOAD)
        request->result = read_store(thread, number, memory->knows[thread].seen[number] + (uint64_t)choice, request->order);
    else if (request->kind == STORE)
        write_store(thread, number, request, request->value, false);
    else if (request->kind == EXCHANGE)
        modify(thread, request, number, request->value);
    else if (request->kind == ADD)
        modify(thread, request, number, newest(request->address, request->bytes) + request->value);
    else
        compare(thread, request, number, choice);
    trim(number);
}

void memory_plain(int thread, const struct request *request)
{
    const struct knowledge *knows = &world.memory.knows[thread];
    int last = word_of((const char *)request->address + request->bytes - 1);
    for (int word = word_of(request->address); word <= last; word++) {
        expect((knows->wrote >> word & 1) != 0,
               "data race: another thread's write did not happen before this access");
        if (request->kind == WRITE) {
            expect(atomic_of[word] <= 0, "data race: a word that is used atomically is written plainly");
            atomic_of[word] = -1;
            check_readers(thread, word);
        }
        note(thread, word, request->kind == WRITE);
    }
}

void memory_init(void)
{
    memset(&world.memory, 0, sizeof world.memory);
    for (int thread = 0; thread < THREADS; thread++) {
        world.memory.knows[thread].wrote = UINT64_MAX;
        for (int other = 0; other < THREADS; other++)
            world.memory.knows[thread].read[other] = UINT64_MAX;
    }
}

static void trim_all(void)
{
    for (int number = 0; number < atomics; number++)
        if (world.memory.stores[number] > 0)
            trim(number);
}

void memory_leave(int thread)
{
    memset(&world.memory.knows[thread], 0, sizeof world.memory.knows[thread]);
    memset(world.thread[thread].written, 0, sizeof world.thread[thread].written);
    trim_all();
}

void memory_catch_up(int thread)
{
    for (int number = 0; number < atomics; number++)
        if (world.memory.stores[number] > 0)
            world.memory.knows[thread].seen[number] = (uint8_t)(world.memory.stores[number] - 1);
    trim_all();
}

uint64_t memory_view(int thread, const void *address, uint64_t bytes, int view)
{
    int number = memory_history(address, bytes);
    return world.memory.history[number][world.memory.knows[thread].seen[number] + view].value;
}
