/* Batches on their way to their owner (runtime/heap/5_slab_policies/remote/owner_batch.c): thread 0 owns all blocks, the others free them. */
#include "explore.h"

#include "5_slab_policies/remote/owner_batch.c"

enum { PUSHES = 2, BLOCKS = (THREADS - 1) * PUSHES };

static struct heap owner, freer[THREADS];
static struct block space[BLOCKS][2];
static uint64_t got[BLOCKS], got_count;

/* What the real sources need of the rest of the runtime. Parcels and batches are of two blocks. */
const uint32_t hs_parcel[CLASS_COUNT] = { 2 };
const uint32_t hs_batch[CLASS_COUNT] = { 2 };
const struct class_plan hs_class[CLASS_COUNT] = { { .refill = 2 } };
struct heap hs_no_heap;
__thread struct heap *hs_self;
uintptr_t hs_link_key;

struct heap *hs_heap_to_free(void)
{
    return &hs_no_heap;
}

void hs_broken(const char *equation)
{
    fail(equation);
}

static void note(const struct block *block)
{
    expect(got_count < BLOCKS, "more blocks come than were freed");
    expect((uintptr_t)block - (uintptr_t)space < sizeof space, "a name leads nowhere");
    got[got_count++] = (uint64_t)((uintptr_t)block - (uintptr_t)space) / sizeof space[0];
}

/* No front has room: a drained block comes here, and is written to, as the program may. */
void hs_free_small(void *block)
{
    ((struct block *)block)[0].link = 1;
    ((struct block *)block)[1].link = 1;
    note(block);
}

static void setup(void)
{
    share("inbox", boxes_of(&owner)->inbox, sizeof(struct block *));
    share("waiting", boxes_of(&owner)->waiting, sizeof(struct block *));
    share("top", &owner.top[1], sizeof owner.top[1]);
    share("end", &owner.end[1], sizeof owner.end[1]);
    share("drained", &owner.count[0].drained, sizeof(uint64_t));
    share("nobody's", &hs_no_heap.count[0].remote, sizeof(uint64_t));
    for (int thread = 1; thread < THREADS; thread++) {
        share("place", boxes_of(&freer[thread])->outbox[0].place, sizeof(struct place));
        share("remote", &freer[thread].count[0].remote, sizeof(uint64_t));
    }
    share("blocks", space, sizeof space);
    share("key", &hs_link_key, sizeof hs_link_key);
    share("got", got, sizeof got);
    share("got_count", &got_count, sizeof got_count);
}

static void free_blocks(int thread, uint64_t blocks)
{
    for (uint64_t number = 0; number < blocks; number++) {
        struct block *block = space[(uint64_t)(thread - 1) * PUSHES + number];
        block[0].link = block[1].link = 1; /* the program's last write */
        remote_free(&owner, 0, block);
    }
}

static void drain(int times)
{
    for (int time = 0; time < times; time++)
        remote_drain_class(&owner, 0);
}

static void hand_over_one(int thread)
{
    hs_self = &freer[thread];
    if (thread > 0)
        free_blocks(thread, PUSHES);
    else
        drain(1);
}

static void hand_over_twice(int thread)
{
    hs_self = &freer[thread];
    if (thread > 0)
        free_blocks(thread, PUSHES);
    else
        drain(2);
}

static void without_heap(int thread)
{
    hs_self = &hs_no_heap;
    if (thread > 0)
        free_blocks(thread, 1);
    else
        drain(2);
}

/* What waits and what lies in the inbox is all the rest. Outcome: how many blocks the drains brought. */
static uint64_t nothing_lost(void)
{
    uint64_t outcome = got_count, seen = 0, freed = hs_no_heap.count[0].remote;
    expect(owner.count[0].drained == got_count, "drained blocks are miscounted");
    for (int thread = 1; thread < THREADS; thread++)
        freed += freer[thread].count[0].remote;
    struct block *chain[] = { boxes_of(&owner)->waiting[0], boxes_of(&owner)->inbox[0] };
    for (int index = 0; index < 2; index++)
        for (struct block *parcel = chain[index]; parcel != NULL; parcel = link_next(parcel)) {
            note(parcel);
            if (link_next(parcel + 1) != NULL)
                note(link_next(parcel + 1));
        }
    for (uint64_t index = 0; index < got_count; index++) {
        expect((seen >> got[index] & 1) == 0, "a block comes twice");
        seen |= UINT64_C(1) << got[index];
    }
    expect(freed == got_count, "a block is lost, or the counter is wrong");
    return outcome;
}

static const struct explored all[] = {
    { "batch_2", 2, 0, setup, hand_over_one, 0, nothing_lost },
    { "batch_3", 3, 0, setup, hand_over_twice, 0, nothing_lost },
    { "batch_alone", 3, 0, setup, without_heap, 0, nothing_lost },
    { 0 },
};
const struct explored *const cases = all;
