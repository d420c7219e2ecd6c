/* Transfer cache "batches": a LIFO for each class. Adds nothing to struct heap; a class's row says how many it may have
 * (transfer) and where they begin (transfer_slot). */
#pragma once

#include "5_slab_policies/shards/shards.h"
#include "6_slabs/store.h"

/* Per shard and class, by shard_place(), a LIFO of batches of `flush` blocks each: batches <= transfer, the first at transfer_slot. Under the
 * lock of the shard's cache; batches is looked at without it too, so that who finds nothing to do takes none. idle: flushes
 * since a refill looked, which makes it 0 without the lock. Classes that have a shard each share no slots anyway. */
extern void *hs_transferred[SHARD_TRANSFERS][TRANSFER_SLOTS > 0 ? TRANSFER_SLOTS : 1];
extern uint32_t hs_batches[SHARD_COUNT][SHARD_ROW];
extern uint32_t hs_idle[SHARD_COUNT][SHARD_ROW];

#define TRANSFER_VIEW                                                                                                       \
    ADDRESS("transferred", hs_transferred) ADDRESS("batches", hs_batches) NUMBER("SHARD_COUNT", SHARD_COUNT)                \
        NUMBER("SHARD_ROW", SHARD_ROW) NUMBER("SHARD_STEP", SHARD_STEP) NUMBER("SHARD_TRANSFERS", SHARD_TRANSFERS)             \
        NUMBER("TRANSFER_SLOTS", TRANSFER_SLOTS)

/* Known at compile time where no class has it: then no lock is in sight. */
static inline bool transfer_caches(unsigned class)
{
    return TRANSFER_SLOTS > 0 && hs_class[class].transfer > 0;
}

/* Could no other heap take a batch? */
static inline bool transfer_lacks_heaps(void)
{
    return TRANSFER_FROM_HEAPS > 1 && __atomic_load_n(&hs_count.heaps, __ATOMIC_RELAXED) < TRANSFER_FROM_HEAPS;
}

static inline void **transfer_batch(unsigned shard, unsigned class, uint32_t number)
{
    return hs_transferred[shard % SHARD_TRANSFERS] + hs_class[class].transfer_slot + (size_t)number * hs_class[class].flush;
}

/* For who tops it up, under the lock of the cache, where no shards divide it. */
static inline uint32_t transfer_kept(unsigned class)
{
    return word_look(&hs_batches[0][class]);
}

/* Has no refill looked at it for long, or could no other heap take a batch? */
static inline bool transfer_idles(unsigned class)
{
    return transfer_lacks_heaps() || word_look(&hs_idle[0][class]) > TRANSFER_IDLE;
}

/* Where the next batch goes. */
static inline void **transfer_place(unsigned class)
{
    return transfer_batch(0, class, transfer_kept(class));
}

void hs_transfer_flush(struct heap *heap, unsigned class, void *const *blocks);
uint32_t hs_transfer_take(struct heap *heap, unsigned class, void **blocks);
COLD void hs_transfer_empty(void);
COLD void hs_transfer_check(void);
COLD void hs_transfer_reset(void);

/* To the store, under the lock of the cache. */
static inline void transfer_give(struct heap *heap, unsigned class, void *const *blocks, uint32_t count)
{
    unsigned held = 0;
    if (TRANSFER_APART)
        hs_give_all(heap, class, blocks, count);
    else
        hs_give_batch(heap, class, blocks, count, &held);
}

/* The blocks there become a batch; fewer than a batch, as their take left them, go back to the store. Might there be another? */
static inline bool transfer_add(struct heap *heap, unsigned class, uint32_t taken)
{
    void **batch = transfer_place(class);
    if (taken < hs_class[class].flush) {
        hs_reverse(batch, taken);
        transfer_give(heap, class, batch, taken);
        return false;
    }
    word_set(&hs_batches[0][class], hs_batches[0][class] + 1);
    count_own(&heap->count[class].transfer_in, taken);
    return true;
}
