/* Sites that are not known yet (sites.h): unwinding, and what a thread remembers of it. */
#include "sites.h"

#if STACK_DEPTH > 0

#include <errno.h>
#include <string.h>
#include <sys/mman.h>

#include "../heap/1_base/definitions.h"
#include "../heap/1_base/frames.h"
#include "../heap/1_base/unwind.h"
#include "python.h"

enum {
    MAX_STREAMS = 1 << 16, /* that remember: threads at one time */
    FIRST_PAIRS = 1 << 10,
    MOST_PAIRS = 1 << 18, /* places of the table; of Python frames there may be ever new pairs */
    ROOM_BYTES = 1 << 16, /* for paths, taken from the kernel at a time */
    CHECK_HITS = 4093,    /* from one hit that is unwound as well to the next, about */
};

struct walk {
    struct caller caller;
    uint32_t depth;
    bool is_lasting; /* each return address lies on the stack where it was found */
    uint64_t frames[STACK_DEPTH];
    uint64_t tops[STACK_DEPTH];
    uint32_t slots[STACK_DEPTH];
};

static struct sites tables[MAX_STREAMS];
static uint32_t tables_used;

struct sites *sites_of_stream(uint32_t stream)
{
    static struct sites none; /* its pairs stay NULL */
    if (stream >= MAX_STREAMS)
        return &none;
    uint32_t used = __atomic_load_n(&tables_used, __ATOMIC_RELAXED);
    while (stream >= used &&
           !__atomic_compare_exchange_n(&tables_used, &used, stream + 1, true, __ATOMIC_RELAXED, __ATOMIC_RELAXED))
        ;
    return &tables[stream];
}

void sites_reset(void)
{
    memset(tables, 0, tables_used * sizeof *tables);
    tables_used = 0;
    stacks_reset();
    python_reset();
}

/* The return address of a frame lies one word below its top. Without the caller's top no path is remembered. */
static bool visit(void *to, const struct frame *frame)
{
    struct walk *walk = to;
    const uint64_t *top = (const uint64_t *)frame->top;
    if (walk->depth == 0 && (frame->place != walk->caller.place || (walk->caller.top != NULL && top != walk->caller.top)))
        return true; /* the recorder's own */
    uint64_t slot = (uint64_t)(top - 1 - walk->caller.top);
    bool is_there = walk->depth == 0 || (slot < UINT32_MAX && top[-1] == frame->place);
    walk->is_lasting = walk->is_lasting && walk->caller.top != NULL && !frame->is_interrupted && is_there;
    walk->frames[walk->depth] = frame->place + frame->is_interrupted;
    walk->tops[walk->depth] = (uint64_t)frame->top;
    walk->slots[walk->depth] = (uint32_t)slot;
    return ++walk->depth < STACK_DEPTH;
}

/* The number of the caller's stack, 0 if there is no room for it. `*kept`: its return addresses. */
static uint32_t unwind(struct walk *walk, const struct stack **kept)
{
    hs_walk_stack(visit, walk);
    if (walk->depth == 0) { /* no unwind information: the caller alone */
        walk->frames[0] = walk->caller.place;
        walk->tops[0] = (uint64_t)walk->caller.top;
        walk->depth = 1;
    }
    uint64_t told[STACK_DEPTH];
    uint32_t depth = python_frames(walk->frames, walk->tops, walk->depth, told);
    const struct stack *stack = depth == 0 ? stack_of(walk->frames, walk->depth) : stack_of(told, depth);
    *kept = depth == 0 ? stack : stack_kept(walk->frames, walk->depth);
    return stack == NULL ? 0 : stack->number;
}

/* Forget the paths. */
static void forget(struct sites *sites)
{
    if (sites->pairs != NULL)
        memset(sites->pairs, 0, (sites->mask + 1) * sizeof *sites->pairs);
    sites->used = 0;
    sites->epoch = image->epoch;
    for (char *end = sites->room_end, *before; end != NULL; end = before) {
        before = *(char **)(end - ROOM_BYTES);
        munmap(end - ROOM_BYTES, ROOM_BYTES);
    }
    sites->room = sites->room_end = NULL;
}

static bool resize(struct sites *sites, uint64_t places)
{
    struct sites old = *sites;
    struct pair *pairs = map_memory(places * sizeof *pairs);
    if (pairs == NULL)
        return false;
    sites->pairs = pairs;
    sites->mask = places - 1;
    for (uint64_t i = 0; old.pairs != NULL && i <= old.mask; i++)
        if (old.pairs[i].place != 0)
            *find_pair(sites, (struct caller){old.pairs[i].place, old.pairs[i].top}) = old.pairs[i];
    if (old.pairs != NULL)
        munmap(old.pairs, (old.mask + 1) * sizeof *pairs);
    return true;
}

static struct path *make_path(struct sites *sites, const struct walk *walk)
{
    uint64_t bytes = (sizeof(struct path) + walk->depth * sizeof *walk->slots + 7) & ~UINT64_C(7);
    if (sites->room == NULL || bytes > (uint64_t)(sites->room_end - sites->room)) {
        char *room = map_memory(ROOM_BYTES);
        if (room == NULL)
            return NULL;
        *(char **)room = sites->room_end;
        sites->room = room + sizeof(char *);
        sites->room_end = room + ROOM_BYTES;
    }
    struct path *path = (struct path *)sites->room;
    sites->room += bytes;
    memcpy(path->slots, walk->slots, walk->depth * sizeof *walk->slots);
    return path;
}

static bool has_room(struct sites *sites)
{
    if (sites->pairs != NULL && 2 * sites->used <= sites->mask)
        return true;
    if (sites->pairs == NULL || sites->mask + 1 < MOST_PAIRS || !python_is_known())
        return resize(sites, sites->pairs == NULL ? FIRST_PAIRS : 2 * (sites->mask + 1));
    forget(sites);
    return true;
}

static void remember(struct sites *sites, struct caller key, const struct walk *walk, const struct stack *kept, uint32_t number)
{
    struct path *path = has_room(sites) ? make_path(sites, walk) : NULL;
    if (path == NULL)
        return;
    struct pair *pair = find_pair(sites, key);
    sites->used += pair->place == 0;
    path->stack = kept;
    path->number = number;
    path->next = pair->paths;
    *pair = (struct pair){key.place, key.top, path};
}

/* The path of the pair that holds, moved to the front; NULL if none does. */
static const struct path *find_path(const struct sites *sites, struct caller key)
{
    if (sites->pairs == NULL)
        return NULL;
    struct pair *pair = find_pair(sites, key);
    for (struct path **link = &pair->paths; *link != NULL; link = &(*link)->next) {
        struct path *path = *link;
        if (!holds(path, key.top))
            continue;
        *link = path->next;
        path->next = pair->paths;
        pair->paths = path;
        return path;
    }
    return NULL;
}

uint32_t site_slow(struct sites *sites, struct caller caller)
{
    int saved_errno = errno;
    if (sites->epoch != image->epoch)
        forget(sites);
    struct caller key = {caller.place ^ python_key(), caller.top};
    bool is_check = sites->to_check <= 0;
    const struct path *path = find_path(sites, key);
    uint32_t number = path == NULL ? 0 : path->number;
    if (path == NULL || is_check) {
        struct walk walk; /* its arrays are long: they are not cleared */
        walk.caller = caller;
        walk.depth = 0;
        walk.is_lasting = true;
        const struct stack *kept = NULL;
        uint32_t found = unwind(&walk, &kept);
        if (path == NULL && found != 0 && kept != NULL && walk.is_lasting)
            remember(sites, key, &walk, kept, found);
        if (is_check && path != NULL && found != 0)
            count_check(path->number == found);
        number = found;
    }
    if (is_check)
        sites->to_check = CHECK_HITS - (int64_t)(stamp_now() >> 3 & 255); /* no program beats in time with it */
    errno = saved_errno;
    return number;
}

#pragma GCC visibility push(default)

/* Code that is unmapped may make room for other code at the same addresses. */
int dlclose(void *library)
{
    static int (*real_dlclose)(void *);
    if (real_dlclose == NULL)
        *(void **)&real_dlclose = definition_next("dlclose").function;
    int status = real_dlclose(library);
    hs_frames_stale();
    __atomic_fetch_add(&image->epoch, 1, __ATOMIC_RELAXED);
    return status;
}

#pragma GCC visibility pop

#else

struct sites *sites_of_stream(uint32_t stream)
{
    (void)stream;
    return NULL;
}

void sites_reset(void)
{
}

#endif
