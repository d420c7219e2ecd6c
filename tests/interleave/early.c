/* Stores that others see before their thread comes to them: which a thread may make, and whether it can still come to one. */
#include "world.h"

#include <stdlib.h>
#include <string.h>

static bool reads(uint64_t kind)
{
    return kind != STORE && kind <= CAS_WEAK;
}

/* One step of a thread, and what `then` finds behind it; the state is afterwards as it was. */
static bool with_step(int thread, int choice, bool (*then)(int thread, int ahead, void *with), int ahead, void *with)
{
    struct world *before = malloc(sizeof *before);
    uint64_t shared[WORDS];
    suffice(before != NULL, "out of memory");
    *before = world;
    save_shared(shared);
    bool found = try_step(thread, choice) && then(thread, ahead - 1, with);
    world = *before;
    restore_shared(shared);
    free(before);
    return found;
}

static bool comes_within(int thread, int ahead, void *unused)
{
    const struct request *request = &world.thread[thread].request;
    if (!world.thread[thread].early.made)
        return true;
    if (ahead == 0 || request->kind > CAS_WEAK)
        return false;
    for (int choice = 0; choice < memory_choices(thread, request); choice++)
        if (with_step(thread, choice, comes_within, ahead, unused))
            return true;
    return false;
}

bool any_early(void)
{
    for (int thread = 0; thread < explored->threads; thread++)
        if (world.thread[thread].early.made)
            return true;
    return false;
}

bool comes(int thread)
{
    return comes_within(thread, AHEAD, NULL);
}

struct ahead {
    struct store_ahead *list;
    int count;
};

static void add_store(struct ahead *found, const struct request *request, uint64_t value, bool modifies)
{
    struct store_ahead store = { request->address, request->bytes, value, modifies };
    for (int index = 0; index < found->count; index++)
        if (memcmp(&found->list[index], &store, sizeof store) == 0)
            return;
    suffice(found->count < AHEAD_STORES, "more stores ahead than AHEAD_STORES");
    found->list[found->count++] = store;
}

/* No store with release: it waits for all before it. */
static void look_at_store(struct ahead *found, const struct request *request)
{
    uint64_t value = request->value, read = newest_of(request->address, request->bytes);
    if (request->order == __ATOMIC_RELEASE || request->order == __ATOMIC_ACQ_REL || request->kind == LOAD)
        return;
    if ((request->kind != CAS_STRONG && request->kind != CAS_WEAK) || read == request->expected)
        add_store(found, request, request->kind == ADD ? read + value : value, reads(request->kind));
}

static bool look_within(int thread, int ahead, void *with)
{
    const struct request *request = &world.thread[thread].request;
    if (request->kind > CAS_WEAK)
        return false;
    if (ahead < AHEAD)
        look_at_store(with, request);
    for (int choice = 0; ahead > 1 && choice < memory_choices(thread, request); choice++)
        with_step(thread, choice, look_within, ahead, with);
    return false;
}

/* A store that overtakes stores alone changes nothing: these may be made first, and not be read. */
int stores_ahead(int thread, struct store_ahead list[AHEAD_STORES])
{
    struct ahead found = { list, 0 };
    if (is_early && reads(world.thread[thread].request.kind) && !world.thread[thread].early.made)
        look_within(thread, AHEAD, &found);
    return found.count;
}
