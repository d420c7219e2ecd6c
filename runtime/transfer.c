/* The transfer cache: batches that one heap flushed wait for another's refill (docs/machine.md section 5). */
#include "transfer.h"

#include "remote/remote.h"
#include "store.h"

#include <string.h>

/* Per class a LIFO of batches of `flush` blocks each: batches[class] <= transfer, the first at transfer_slot. Under the
 * store's lock; batches is looked at without it too, so that who finds nothing to do takes none. idle: flushes since a
 * refill looked. */
static void *transferred[TRANSFER_SLOTS];
static uint32_t batches[CLASS_COUNT];
static uint32_t idle[CLASS_COUNT]; /* a refill makes it 0 without the lock */

static void **batch_at(unsigned class, uint32_t number)
{
    return transferred + hs_class[class].transfer_slot + (size_t)number * hs_class[class].flush;
}

/* Of the class to the store, the newest batch first; under the lock. */
static void empty(struct heap *heap, unsigned class)
{
    ROUNDS(batches_emptied);
    while (batches[class] > 0) {
        BOUND(batches_emptied, MOST_TRANSFER);
        word_set(&batches[class], batches[class] - 1);
        hs_give_batch(heap, class, batch_at(class, batches[class]), hs_class[class].flush);
        count_own(&heap->count[class].transfer_back, hs_class[class].flush);
    }
}

/* The class's flush, under the lock: is it kept? */
static bool keep(struct heap *heap, unsigned class, void *const *blocks)
{
    const struct class_plan *plan = &hs_class[class];
    if (plan->transfer == 0)
        return false;
    word_set(&idle[class], word_look(&idle[class]) + 1);
    if (word_look(&idle[class]) > TRANSFER_IDLE) {
        empty(heap, class);
        return false;
    }
    if (batches[class] == plan->transfer)
        return false;
    memcpy(batch_at(class, batches[class]), blocks, plan->flush * sizeof *blocks);
    word_set(&batches[class], batches[class] + 1);
    count_own(&heap->count[class].transfer_in, plan->flush);
    return true;
}

void hs_transfer_flush(struct heap *heap, unsigned class, void *const *blocks)
{
    remote_lock_store();
    if (!keep(heap, class, blocks))
        hs_give_batch(heap, class, blocks, hs_class[class].flush);
    remote_unlock_store();
}

uint32_t hs_transfer_take(struct heap *heap, unsigned class, void **blocks)
{
    if (hs_class[class].transfer == 0)
        return 0;
    if (word_look(&idle[class]) != 0)
        word_set(&idle[class], 0);
    if (word_look(&batches[class]) == 0)
        return 0;
    uint32_t taken = 0;
    remote_lock_store();
    if (batches[class] > 0) {
        taken = hs_class[class].flush;
        word_set(&batches[class], batches[class] - 1);
        memcpy(blocks, batch_at(class, batches[class]), taken * sizeof *blocks);
        count_own(&heap->count[class].transfer_out, taken);
        count_own(&heap->count[class].refill, 1);
        count_own(&heap->count[class].refilled, taken);
    }
    remote_unlock_store();
    return taken;
}

void hs_transfer_empty(void)
{
    for (unsigned class = 0; class < CLASS_COUNT; class++) {
        remote_lock_store();
        empty(&hs_no_heap, class);
        remote_unlock_store();
    }
}

#ifdef BACKGROUND_EVERY
extern const uint32_t hs_background_low[CLASS_COUNT];
extern const uint32_t hs_background_full[CLASS_COUNT];

/* Under the lock: if there are too few, a batch of the store's blocks, which comes out in the order in which the store took
 * them. Might there be another? The heap of no thread counts what is taken. */
static bool add(unsigned class)
{
    if (batches[class] >= hs_background_full[class] || word_look(&idle[class]) > TRANSFER_IDLE)
        return false;
    const uint32_t flush = hs_class[class].flush;
    void **batch = batch_at(class, batches[class]);
    uint32_t taken = hs_take_locked(&hs_no_heap, class, batch, flush);
    count_own(&hs_count.background_blocks, taken);
    if (taken < flush) {
        hs_give_batch(&hs_no_heap, class, batch, taken);
        return false;
    }
    hs_reverse(batch, flush);
    word_set(&batches[class], batches[class] + 1);
    count_own(&hs_no_heap.count[class].transfer_in, flush);
    return true;
}

/* The lock is free between two batches: who waits for it waits for one. */
void hs_transfer_top_up(unsigned class)
{
    bool more = true;
    while (more) {
        remote_lock_store();
        more = add(class);
        remote_unlock_store();
    }
}

bool hs_transfer_is_low(unsigned class)
{
    return hs_class[class].transfer > 0 && word_look(&batches[class]) < hs_background_low[class];
}
#endif

void hs_transfer_check(void)
{
    for (unsigned class = 0; class < CLASS_COUNT; class++)
        check(batches[class] <= hs_class[class].transfer, "batches <= transfer");
}

void hs_transfer_reset(void)
{
    memset(batches, 0, sizeof batches);
    memset(idle, 0, sizeof idle);
}
