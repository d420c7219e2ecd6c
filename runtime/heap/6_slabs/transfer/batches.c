/* Transfer cache "batches": what one heap flushed waits for another's refill. */
#include "6_slabs/transfer/transfer.h"

#include "5_slab_policies/remote/remote.h"
#include "moments.h"

#include <string.h>

COLD_DATA void *hs_transferred[SHARD_TRANSFERS][TRANSFER_SLOTS > 0 ? TRANSFER_SLOTS : 1];
_Alignas(SHARD_ALIGNMENT) uint32_t hs_batches[SHARD_COUNT][SHARD_ROW];
_Alignas(SHARD_ALIGNMENT) uint32_t hs_idle[SHARD_COUNT][SHARD_ROW];

static uint32_t *batches_of(unsigned shard, unsigned class)
{
    return &hs_batches[shard][shard_place(class)];
}

static uint32_t *idle_of(unsigned shard, unsigned class)
{
    return &hs_idle[shard][shard_place(class)];
}

/* Of the class to the store, the newest batch first; under the lock. Several shards may do it for the heap of no thread. */
static void empty(struct heap *heap, unsigned shard, unsigned class)
{
    ROUNDS(batches_emptied);
    while (*batches_of(shard, class) > 0) {
        BOUND(batches_emptied, MOST_TRANSFER);
        word_set(batches_of(shard, class), *batches_of(shard, class) - 1);
        transfer_give(heap, class, transfer_batch(shard, class, *batches_of(shard, class)), hs_class[class].flush);
        count_shared(&heap->count[class].transfer_back, hs_class[class].flush);
    }
}

/* The class's flush, under the lock: is it kept? */
static bool keep(struct heap *heap, unsigned shard, unsigned class, void *const *blocks)
{
    const struct class_plan *plan = &hs_class[class];
    uint32_t *count = batches_of(shard, class);
    word_set(idle_of(shard, class), word_look(idle_of(shard, class)) + 1);
    if (word_look(idle_of(shard, class)) > TRANSFER_IDLE) {
        empty(heap, shard, class);
        return false;
    }
    if (*count == plan->transfer)
        return false;
    memcpy(transfer_batch(shard, class, *count), blocks, plan->flush * sizeof *blocks);
    word_set(count, *count + 1);
    count_own(&heap->count[class].transfer_in, plan->flush);
    return true;
}

void hs_transfer_flush(struct heap *heap, unsigned class, void *const *blocks)
{
    const struct class_plan *plan = &hs_class[class];
    unsigned shard;
    if (!transfer_caches(class) || transfer_lacks_heaps() || !shard_keeps(heap, class, blocks, plan->flush, &shard)) {
        hs_give_all(heap, class, blocks, plan->flush);
        return;
    }
    shard_lock_transfer(shard);
    count_locks(LOCKS_BATCH_KEEP);
    bool kept = keep(heap, shard, class, blocks);
    if (!kept && !TRANSFER_APART)
        transfer_give(heap, class, blocks, plan->flush);
    shard_unlock_transfer(shard);
    if (!kept && TRANSFER_APART)
        transfer_give(heap, class, blocks, plan->flush);
}

uint32_t hs_transfer_take(struct heap *heap, unsigned class, void **blocks)
{
    if (!transfer_caches(class) || transfer_lacks_heaps())
        return 0;
    on_take_begins(heap);
    const unsigned shard = shard_of(heap, class);
    uint32_t *count = batches_of(shard, class);
    if (word_look(idle_of(shard, class)) != 0)
        word_set(idle_of(shard, class), 0);
    if (word_look(count) == 0)
        return 0;
    uint32_t taken = 0;
    shard_lock_transfer(shard);
    count_locks(LOCKS_BATCH_TAKE);
    if (*count > 0) {
        taken = hs_class[class].flush;
        word_set(count, *count - 1);
        memcpy(blocks, transfer_batch(shard, class, *count), taken * sizeof *blocks);
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
            if (!shard_has(shard, class) || !transfer_caches(class) || word_look(batches_of(shard, class)) == 0)
                continue;
            shard_lock_transfer(shard);
            count_locks(LOCKS_OTHER);
            empty(&hs_no_heap, shard, class);
            shard_unlock_transfer(shard);
        }
}

void hs_transfer_check(void)
{
    for (unsigned shard = 0; shard < SHARD_COUNT; shard++)
        for (unsigned class = 0; class < CLASS_COUNT; class++)
            check(!shard_has(shard, class) || *batches_of(shard, class) <= hs_class[class].transfer, "batches <= transfer");
}

void hs_transfer_reset(void)
{
    memset(hs_batches, 0, sizeof hs_batches);
    memset(hs_idle, 0, sizeof hs_idle);
}
