/* The memory model: C11 atomics, plain accesses checked for races. Without `early` it is RC11's (Lahav et al., PLDI 2017):
 * no load buffering. Of seq_cst there are fences alone, and for atomic words alone: a fence sees what each earlier fence had seen.
 *
 * Each atomic word has a history of stores. A thread may read any store not older than what it has seen: itself, or through
 * what it acquired (views, as in Kang et al., POPL 2017). A read-modify-write reads the newest. Stores join at the history's
 * end: for a word changed by read-modify-writes alone that is every modification order there is. A release store carries the
 * writer's knowledge, a read-modify-write also passes on what it read (release sequences).
 *
 * With `early` the model is that of Kang et al. with promises, which allows all that 64-bit Arm does with the instructions
 * of these orders (Podkopaev et al., POPL 2019). A store may join behind any store that its thread has not seen, if the next
 * one is no read-modify-write of that. And it may be read before its thread comes to it, past loads and read-modify-writes, if
 * the thread can come to it whatever the others do: checked after each step of the thread, alone, AHEAD operations far. */
#include "world.h"

#include <string.h>

static int8_t atomic_of[WORDS]; /* the history of a word: 1 + its number; 0: none yet; -1: written plainly. One for all states */
static int atomics;

uint64_t newest_of(const void *address, uint64_t bytes)
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
        suffice(atomics < ATOMICS, "more atomic words than ATOMICS");
        atomic_of[word] = (int8_t)++atomics;
    }
    int number = atomic_of[word] - 1;
    struct memory *memory = &world.memory;
    if (memory->stores[number] == 0) {
        memory->history[number][0] = (struct store){ .value = newest_of(address, bytes) };
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

static bool is_read(uint64_t kind)
{
    return kind != STORE;
}

/* The stores from `index` on become one newer: those that were seen, and those that were made early. */
static void make_place(int number, uint64_t index)
{
    struct memory *memory = &world.memory;
    uint64_t count = memory->stores[number]++;
    suffice(count < STORES, "a history longer than STORES");
    memmove(&memory->history[number][index + 1], &memory->history[number][index], (count - index) * sizeof(struct store));
    memory->history[number][index] = (struct store){ 0 };
    for (int thread = 0; thread < THREADS; thread++) {
        struct early *early = &world.thread[thread].early;
        memory->knows[thread].seen[number] += memory->knows[thread].seen[number] >= index;
        early->index += early->made && early->number == (uint64_t)number && early->index >= index;
    }
    memory->fenced[number] += memory->fenced[number] >= index;
    for (int other = 0; other < ATOMICS; other++)
        for (uint64_t store = 0; store < memory->stores[other]; store++)
            memory->history[other][store].brings.seen[number] += memory->history[other][store].brings.seen[number] >= index;
}

/* Writes at a place of the history, whose store before that place is read if this is a read-modify-write. */
static void write_store(int thread, int number, const struct store_ahead *store, uint64_t place, bool releases)
{
    int word = word_of(store->address);
    check_readers(thread, word);
    note(thread, word, true);
    make_place(number, place);
    struct store *made = &world.memory.history[number][place];
    made->value = store->value;
    made->modifies = store->modifies;
    if (releases) {
        made->brings = world.memory.knows[thread];
        made->brings.seen[number] = (uint8_t)place;
    }
    if (store->modifies)
        join(&made->brings, &made[-1].brings);
    if (place + 1 == world.memory.stores[number])
        memcpy((void *)(uintptr_t)store->address, &store->value, store->bytes);
}

/* The newest first. A store comes behind what its thread has seen, and a read-modify-write right behind what it reads. */
int memory_places(int thread, int number, uint64_t places[STORES])
{
    uint64_t place = world.memory.stores[number], last = world.memory.knows[thread].seen[number];
    int count = 0;
    places[count++] = place;
    while (is_early && --place > last)
        if (!world.memory.history[number][place].modifies)
            places[count++] = place;
    return count;
}

/* The value that the operation stores if it reads `read`; false: it is a compare-and-swap, and fails. */
static bool stored(const struct request *request, uint64_t read, uint64_t *value)
{
    *value = request->kind == ADD ? read + request->value : request->value;
    return (request->kind != CAS_STRONG && request->kind != CAS_WEAK) || read == request->expected;
}

/* Is the operation the store that others may have seen already? */
static bool is_early_store(int thread, int number, const struct request *request)
{
    const struct early *early = &world.thread[thread].early;
    const struct store *store = &world.memory.history[number][early->index];
    uint64_t value;
    if (!early->made || early->number != (uint64_t)number || world.memory.knows[thread].seen[number] >= early->index)
        return false;
    return !releases(request->order) && request->kind != LOAD && store->modifies == is_read(request->kind) &&
           stored(request, store[-1].value, &value) && value == store->value;
}

static void forget_oldest(uint8_t seen[ATOMICS], int number, uint8_t count)
{
    seen[number] -= seen[number] < count ? seen[number] : count;
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
    for (int thread = 0; thread < THREADS; thread++) {
        forget_oldest(memory->knows[thread].seen, number, least);
        struct early *early = &world.thread[thread].early;
        if (early->made && early->number == (uint64_t)number)
            early->index -= early->index < least ? early->index : least;
    }
    forget_oldest(memory->fenced, number, least);
    for (int other = 0; other < ATOMICS; other++)
        for (uint64_t index = 0; index < memory->stores[other]; index++)
            forget_oldest(memory->history[other][index].brings.seen, number, least);
}

/* The `choice`-th way an operation can go: the store that it reads; where its own stands, 0: nowhere, or it is early. A load
 * reads any store that is not older than what the thread knows. The first way is the newest one. A weak compare-and-swap may fail
 * where it could succeed; one that fails reads any store with another value. */
struct course {
    uint64_t reads, place;
    bool is_early;
};

static bool next_course(struct course *course, int *left, uint64_t reads, uint64_t place, bool early)
{
    *course = (struct course){ reads, place, early };
    return (*left)-- == 0;
}

/* A thread that reads its own early store, or a newer one, can never come to it. */
static uint64_t readable(int thread, int number)
{
    const struct early *early = &world.thread[thread].early;
    return early->made && early->number == (uint64_t)number ? early->index : world.memory.stores[number];
}

static bool may_read_alone(uint64_t kind)
{
    return kind == LOAD || kind == CAS_STRONG || kind == CAS_WEAK;
}

static bool find_course(int thread, const struct request *request, int number, int choice, struct course *course)
{
    const struct memory *memory = &world.memory;
    uint64_t places[STORES], value, seen = memory->knows[thread].seen[number];
    int count = request->kind == LOAD ? 0 : memory_places(thread, number, places);
    for (int at = 0; at < count; at++)
        if (stored(request, memory->history[number][places[at] - 1].value, &value) &&
            next_course(course, &choice, places[at] - 1, places[at], false))
            return true;
    if (is_early_store(thread, number, request) &&
        next_course(course, &choice, world.thread[thread].early.index - 1, 0, true))
        return true;
    for (uint64_t at = may_read_alone(request->kind) ? readable(thread, number) : 0; at-- > seen;) {
        bool fails = !stored(request, memory->history[number][at].value, &value);
        if (request->kind == CAS_WEAK && at + 1 == memory->stores[number])
            fails = true;
        if ((fails || request->kind == LOAD) && next_course(course, &choice, at, 0, false))
            return true;
    }
    return false;
}

int memory_choices(int thread, const struct request *request)
{
    int number = memory_history(request->address, request->bytes), choices = 0;
    struct course course;
    while (find_course(thread, request, number, choices, &course))
        choices++;
    return choices;
}

static void write_where(int thread, int number, const struct request *request, const struct course *course, uint64_t value)
{
    struct early *early = &world.thread[thread].early;
    struct store_ahead store = { request->address, request->bytes, value, is_read(request->kind) };
    uint64_t place = course->is_early ? early->index : course->place;
    if (!course->is_early)
        write_store(thread, number, &store, place, releases(request->order));
    else
        *early = (struct early){ 0 };
    world.memory.knows[thread].seen[number] = (uint8_t)place;
    world.thread[thread].written[number] = value;
}

void memory_perform(int thread, struct request *request, int choice)
{
    int number = memory_history(request->address, request->bytes);
    struct course course;
    find_course(thread, request, number, choice, &course);
    bool writes = course.place > 0 || course.is_early, is_cas = request->kind == CAS_STRONG || request->kind == CAS_WEAK;
    uint64_t value = 0;
    if (writes)
        stored(request, world.memory.history[number][course.reads].value, &value);
    if (is_read(request->kind))
        request->result = read_store(thread, number, course.reads, is_cas && !writes ? request->failure_order : request->order);
    if (writes)
        write_where(thread, number, request, &course, value);
    if (is_cas)
        request->value = writes;
    trim(number);
}

bool memory_store_early(int thread, const struct store_ahead *store, uint64_t place)
{
    int number = memory_history(store->address, store->bytes);
    write_store(thread, number, store, place, false);
    world.thread[thread].early = (struct early){ true, (uint64_t)number, place };
    trim(number);
    return comes(thread);
}

static void trim_all(void)
{
    for (int number = 0; number < atomics; number++)
        if (world.memory.stores[number] > 0)
            trim(number);
}

/* Plain accesses are not ordered by it here, as they are in C11 by a word that is stored behind one fence and read before another. */
void memory_fence(int thread)
{
    uint8_t *seen = world.memory.knows[thread].seen, *fenced = world.memory.fenced;
    for (int number = 0; number < atomics; number++)
        if (seen[number] < fenced[number])
            seen[number] = fenced[number];
        else
            fenced[number] = seen[number];
    trim_all();
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
