/* The transfer cache: batches that one heap flushed wait for another's refill (docs/machine.md section 5). */
#include "6_slabs/transfer.h"

#include "5_slab_policies/remote/remote.h"
#include "5_slab_policies/shards/shards.h"
#include "6_slabs/store.h"

#include <string.h>

/* Per shard and class a LIFO of batches of `flush` blocks each: batches <= transfer, the first at transfer_slot. Under the
 * lock of the shard's cache; batches is looked at without it too, so that who finds nothing to do takes none. idle: flushes
 * since a refill looked. Classes that have a shard each share no slots anyway. */
COLD_DATA static void *transferred[SHARD_TRANSFERS][TRANSFER_SLOTS > 0 ? TRANSFER_SLOTS : 1];
static _Alignas(SHARD_ALIGNMENT) uint32_t batches[SHARD_COUNT][SHARD_ROW];
static _Alignas(SHARD_ALIGNMENT) uint32_t idle[SHARD_COUNT][SHARD_ROW]; /* a refill makes it 0 without the lock */

/* Known at compile time where no class has it: then no lock is in sight. */
static bool is_cached(unsigned class)
{
    return TRANSFER_SLOTS > 0 && hs_class[class].transfer > 0;
}

static void **batch_at(unsigned shard, unsigned class, uint32_t number)
{
    return transferred[shard % SHARD_TRANSFERS] + hs_class[class].transfer_slot + (size_t)number * hs_class[class].flush;
}

/* To the store, under the lock of the cache. */
static void give(struct heap *heap, unsigned class, void *const *blocks, uint32_t count)
{
    unsigned held = 0;
    if (TRANSFER_APART)
        hs_give_all(heap, class, blocks, count);
    else
        hs_give_batch(heap, class, blocks, count, &held);
}

/* Of the class to the store, the newest batch first; under the lock. Several shards may do it for the heap of no thread. */
static void empty(struct heap *heap, unsigned shard, unsigned class)
{
    ROUNDS(batches_emptied);
    while (batches[shard][class] > 0) {
        BOUND(batches_emptied, MOST_TRANSFER);
        word_set(&batches[shard][class], batches[shard][class] - 1);
        give(heap, class, batch_at(shard, class, batches[shard][class]), hs_class[class].flush);
        count_shared(&heap->count[class].transfer_back, hs_class[class].flush);
    }
}

/* The class's flush, under the lock: is it kept? */
static bool keep(struct heap *heap, unsigned shard, unsigned class, void *const *blocks)
{
    const struct class_plan *plan = &hs_class[class];
    uint32_t *count = &batches[shard][class];
    word_set(&idle[shard][class], word_look(&idle[shard][class]) + 1);
    if (word_look(&idle[shard][class]) > TRANSFER_IDLE) {
        empty(heap, shard, class);
        return false;
    }
    if (*count == plan->transfer)
        return false;
    memcpy(batch_at(shard, class, *count), blocks, plan->flush * sizeof *blocks);
    word_set(count, *count + 1);
    count_own(&heap->count[class].transfer_in, plan->flush);
    return true;
}

void hs_transfer_flush(struct heap *heap, unsigned class, void *const *blocks)
{
    const struct class_plan *plan = &hs_class[class];
    unsigned shard;
    if (!is_cached(class) || !shard_keeps(heap, class, blocks, plan->flush, &shard)) {
        hs_give_all(heap, class, blocks, plan->flush);
        return;
    }
    shard_lock_transfer(shard);
    bool kept = keep(heap, shard, class, blocks);
    if (!kept && !TRANSFER_APART)
        give(heap, class, blocks, plan->flush);
    shard_unlock_transfer(shard);
    if (!kept && TRANSFER_APART)
        give(heap, class, blocks, plan->flush);
}

uint32_t hs_transfer_take(struct heap *heap, unsigned class, void **blocks)
{
    if (!is_cached(class))
        return 0;
    shard_enter(heap);
    const unsigned shard = shard_of(heap, class);
    uint32_t *count = &batches[shard][class];
    if (word_look(&idle[shard][class]) != 0)
        word_set(&idle[shard][class], 0);
    if (word_look(count) == 0)
        return 0;
    uint32_t taken = 0;
    shard_lock_transfer(shard);
    if (*count > 0) {
        taken = hs_class[class].flush;
        word_set(count, *count - 1);
        memcpy(blocks, batch_at(shard, class, *count), taken * sizeof *blocks);
        count_own(&heap->count[class].transfer_out, taken);
        count_own(&heap->count[class].refill, 1);
        count_own(&heap->count[class].refilled, taken);
    }
    shard_unlock_transfer(shard);
    return taken;
}

void hs_transfer_empty(void)
{
    for (unsigned shard = 0; shard < SHARD_COUNT; shard++)
        for (unsigned class = 0; class < CLASS_COUNT; class++) {
            if (!is_cached(class) || word_look(&batches[shard][class]) == 0)
                continue;
            shard_lock_transfer(shard);
            empty(&hs_no_heap, shard, class);
            shard_unlock_transfer(shard);
        }
}

#ifdef BACKGROUND_EVERY
extern const uint32_t hs_background_low[CLASS_COUNT];
extern const uint32_t hs_background_full[CLASS_COUNT];

/* Under the lock: if there are too few, a batch of the store's blocks, which comes out in the order in which the store took
 * them. Might there be another? The heap of no thread counts what is taken. */
static bool add(unsigned class)
{
    uint32_t *count = &batches[0][class];
    if (*count >= hs_background_full[class] || word_look(&idle[0][class]) > TRANSFER_IDLE)
        return false;
    const uint32_t flush = hs_class[class].flush;
    void **batch = batch_at(0, class, *count);
    uint32_t taken = hs_take_locked(&hs_no_heap, class, batch, flush);
    count_own(&hs_count.background_blocks, taken);
    if (taken < flush) {
        hs_reverse(batch, taken);
        give(&hs_no_heap, class, batch, taken);
        return false;
    }
    word_set(count, *count + 1);
    count_own(&hs_no_heap.count[class].transfer_in, flush);
    return true;
}

/* The lock is free between two batches: who waits for it waits for one. */
void hs_transfer_top_up(unsigned class)
{
    bool more = true;
    while (more) {
        shard_lock_transfer(0);
        more = add(class);
        shard_unlock_transfer(0);
    }
}

bool hs_transfer_is_low(unsigned class)
{
    return is_cached(class) && word_look(&batches[0][class]) < hs_background_low[class];
}
#endif

void hs_transfer_check(void)
{
    for (unsigned shard = 0; shard < SHARD_COUNT; shard++)
        for (unsigned class = 0; class < CLASS_COUNT; class++)
            check(batches[shard][class] <= hs_class[class].transfer, "batches <= transfer");
}

void hs_transfer_reset(void)
{
    memset(batches, 0, sizeof batches);
    memset(idle, 0, sizeof idle);
}
