/* Remote free "owner's batches": each heap has a store; others collect its blocks, and hand over a batch at a time.
 *
 * A parcel is a block whose words name others of its class and owner: the first is the link to the parcel before it, each of
 * the next names a block. Where there is room for more, NULL ends them, and the last word is NULL. So an owner reads a line
 * for eight blocks, one after the other without waiting. A batch is a chain of parcels.
 *
 * Protocol: the inbox of a class is a LIFO of parcels. Hand over: load the head, link the batch's oldest parcel to it,
 * compare-and-swap with release, so that whoever takes the inbox sees the links and names. Take: exchange with NULL, acquire.
 * Only the owner takes, and it takes all, so no pop can meet a recycled head (no ABA). What it has taken waits for it alone.
 * In the child of a fork the batches of other threads that were not handed over are lost, and nothing hangs. */
#include "5_slab_policies/remote/owner_batch.h"

#include "5_slab_policies/choice/choice.h"
#include "4_blocks/links.h"
#include "5_slab_policies/remote/owned.h"
#include "5_slab_policies/remote/remote.h"

extern const uint32_t hs_parcel[CLASS_COUNT]; /* blocks of a parcel, itself one of them */
extern const uint32_t hs_batch[CLASS_COUNT];  /* blocks of a batch */

/* Blocks of one owner that wait to be handed over. */
struct place {
    struct heap *owner;            /* NULL: no blocks */
    struct block *name, *end;      /* where the newest parcel names its next block, and where it is full */
    struct block *newest, *oldest; /* parcels */
    uint64_t blocks;               /* of full parcels */
};

struct outbox {
    uint64_t turn; /* of the place that is handed over where a new owner finds none */
    struct place place[OUTBOX_PLACES];
};

struct boxes {
    struct block *inbox[CLASS_COUNT];   /* any thread pushes, the owner takes all */
    struct block *waiting[CLASS_COUNT]; /* taken, not opened yet */
    struct outbox outbox[CLASS_COUNT];
};

_Static_assert(sizeof(struct boxes) == sizeof((struct heap *)0)->rooms.remote_part, "the boxes' words");

static struct boxes *boxes_of(struct heap *heap)
{
    return (struct boxes *)heap->rooms.remote_part;
}

static void put_in_inbox(struct heap *owner, unsigned class, struct block *newest, struct block *oldest)
{
    struct block **inbox = &boxes_of(owner)->inbox[class];
    struct block *head = __atomic_load_n(inbox, __ATOMIC_RELAXED);
    do {
        link_set(oldest, head);
    } while (!__atomic_compare_exchange_n(inbox, &head, newest, true, __ATOMIC_RELEASE, __ATOMIC_RELAXED));
}

static __attribute__((noinline)) void hand_over(struct place *place, unsigned class)
{
    if (place->name != place->end) {
        link_set(place->name, NULL);
        link_set(place->end - 1, NULL);
    }
    put_in_inbox(place->owner, class, place->newest, place->oldest);
    *place = (struct place){ 0 };
}

/* A place without blocks for an owner that has none. */
static struct place *place_for(struct outbox *outbox, unsigned class)
{
    for (unsigned index = 0; index < OUTBOX_PLACES; index++)
        if (outbox->place[index].owner == NULL)
            return &outbox->place[index];
    struct place *place = &outbox->place[outbox->turn++ % OUTBOX_PLACES];
    hand_over(place, class);
    return place;
}

/* The place of an owner that is not in the first one. */
static __attribute__((noinline)) struct place *other_place(struct outbox *outbox, struct heap *owner, unsigned class)
{
    for (unsigned index = 1; index < OUTBOX_PLACES; index++)
        if (outbox->place[index].owner == owner)
            return &outbox->place[index];
    struct place *place = place_for(outbox, class);
    place->owner = owner;
    return place;
}

/* The block is the newest parcel, with room for as many names as a parcel has. */
static __attribute__((noinline)) void begin_parcel(struct place *place, unsigned class, struct block *block)
{
    link_set(block, place->newest);
    if (place->newest == NULL)
        place->oldest = block;
    place->newest = block;
    place->name = block + 1;
    place->end = block + hs_parcel[class];
}

static __attribute__((noinline)) void end_parcel(struct place *place, unsigned class)
{
    place->blocks += hs_parcel[class];
    if (place->blocks >= hs_batch[class])
        hand_over(place, class);
}

/* For a thread without a heap, which gets one now if it can. Then the block may be its own.
 * With a quarantine free() has asked for one already. */
static __attribute__((noinline)) void free_without_heap(struct heap *owner, unsigned class, struct block *block)
{
    if (QUARANTINE == 0 && hs_heap_to_free() != &hs_no_heap) {
        hs_free_small(block);
        return;
    }
    count_shared(&hs_no_heap.count[class].remote, 1);
    if (hs_parcel[class] > 1) {
        link_set(block + 1, NULL);
        link_set(block + hs_parcel[class] - 1, NULL);
    }
    put_in_inbox(owner, class, block, block);
}

void remote_free(struct heap *owner, unsigned class, void *freed)
{
    struct block *block = freed;
    struct heap *heap = hs_self;
    check(owner != NULL, "a freed block lies in a slab in use");
    if (heap == &hs_no_heap) {
        free_without_heap(owner, class, block);
        return;
    }
    count_own(&heap->count[class].remote, 1);
    struct outbox *outbox = &boxes_of(heap)->outbox[class];
    struct place *place = outbox->place;
    if (place->owner != owner)
        place = other_place(outbox, owner, class);
    if (place->name != place->end)
        link_set(place->name++, block);
    else
        begin_parcel(place, class, block);
    if (place->name == place->end)
        end_parcel(place, class);
}

void remote_heap_drains(struct heap *heap)
{
    for (unsigned class = 0; class < CLASS_COUNT; class++)
        for (unsigned index = 0; index < OUTBOX_PLACES; index++) {
            struct place *place = &boxes_of(heap)->outbox[class].place[index];
            if (place->owner != NULL)
                hand_over(place, class);
        }
}

/* Do parcels of the class wait, now that the inbox was looked at if none did? */
static bool has_parcels(struct heap *heap, unsigned class)
{
    struct boxes *boxes = boxes_of(heap);
    if (boxes->waiting[class] == NULL && __atomic_load_n(&boxes->inbox[class], __ATOMIC_RELAXED) != NULL)
        boxes->waiting[class] = __atomic_exchange_n(&boxes->inbox[class], NULL, __ATOMIC_ACQUIRE);
    return boxes->waiting[class] != NULL;
}

/* Where the names of a parcel end: most parcels are full. */
static struct block *names_end(struct block *parcel, unsigned class)
{
    struct block *end = parcel + hs_parcel[class];
    if (hs_parcel[class] == 1 || link_next(end - 1) != NULL)
        return end;
    struct block *name = parcel + 1;
    while (link_next(name) != NULL)
        name++;
    if (ZERO_FREED)
        name->link = end[-1].link = 0;
    return name;
}

/* Free the blocks of the parcel that waits in front: the one named last first, the parcel itself last. How many? A front
 * that is a stack with room gets a block without a look at its slab: whose and of which class it is, is known. */
static uint32_t open_parcel(struct heap *heap, unsigned class)
{
    struct block *parcel = boxes_of(heap)->waiting[class];
    boxes_of(heap)->waiting[class] = link_take(parcel);
    struct block *name = names_end(parcel, class);
    const uint32_t blocks = (uint32_t)(name - parcel);
    count_own(&heap->count[class].drained, blocks);
    if (hs_class[class].stack > 0 && !stack_is_open(heap, class))
        stack_open(heap, class);
    while (name-- > parcel) {
        struct block *block = name > parcel ? link_take(name) : parcel;
        void **top = heap->top[1 + class];
        if (top == heap->end[1 + class]) {
            hs_free_small(block);
            continue;
        }
        count_checked(&heap->count[class].push);
        *top = block;
        __atomic_store_n(&heap->top[1 + class], top + 1, __ATOMIC_RELAXED);
    }
    return blocks;
}

bool remote_drain_class(struct heap *heap, unsigned class)
{
    if (!has_parcels(heap, class))
        return false;
    for (uint32_t opened = 0; opened < hs_class[class].refill && boxes_of(heap)->waiting[class] != NULL;)
        opened += open_parcel(heap, class);
    return true;
}

/* All that waits, and all of the inbox as it is then. */
static bool drain_whole(struct heap *heap, unsigned class)
{
    bool came = false;
    for (int round = 0; round < 2 && has_parcels(heap, class); round++)
        for (came = true; boxes_of(heap)->waiting[class] != NULL;)
            open_parcel(heap, class);
    return came;
}

bool remote_drain(struct heap *heap)
{
    bool came = false;
    for (unsigned class = 0; class < CLASS_COUNT; class++)
        came |= drain_whole(heap, class);
    return came;
}

/* Where the class needs a new slab, blocks of other classes may empty one. */
void remote_before_take(struct heap *heap, unsigned class)
{
    if (choice_gives(&heap->store[class]) != NULL)
        return;
    for (unsigned other = 0; other < CLASS_COUNT; other++)
        if (other != class)
            drain_whole(heap, other);
}
