/* The transfer cache: batches that one heap flushed wait for another's refill (docs/machine.md section 5). */
#include "transfer.h"

#include <string.h>

/* Per class a LIFO of batches of `flush` blocks each: held[class] <= transfer, the first at transfer_slot. Under the store's
 * lock. */
static void *slot[TRANSFER_SLOTS];
static uint32_t held[CLASS_COUNT];

static void **batch(unsigned class, uint32_t number)
{
    return slot + hs_class[class].transfer_slot + (size_t)number * hs_class[class].flush;
}

/* A look without the lock, so that who finds nothing to do takes none. */
static uint32_t look(unsigned class)
{
    return __atomic_load_n(&held[class], __ATOMIC_RELAXED);
}

/* Under the lock. */
static void hold(unsigned class, uint32_t batches)
{
    __atomic_store_n(&held[class], batches, __ATOMIC_RELAXED);
}

bool hs_transfer_keep(struct heap *heap, unsigned class, void *const *blocks)
{
    const struct class_plan *plan = &hs_class[class];
    if (look(class) == plan->transfer)
        return false;
    remote_lock_store();
    bool has_room = held[class] < plan->transfer;
    if (has_room) {
        memcpy(batch(class, held[class]), blocks, plan->flush * sizeof *blocks);
        hold(class, held[class] + 1);
        count_own(&heap->count[class].transfer_in, plan->flush);
    }
    remote_unlock_store();
    return has_room;
}

uint32_t hs_transfer_take(struct heap *heap, unsigned class, void **blocks)
{
    if (look(class) == 0)
        return 0;
    uint32_t taken = 0;
    remote_lock_store();
    if (held[class] > 0) {
        taken = hs_class[class].flush;
        hold(class, held[class] - 1);
        memcpy(blocks, batch(class, held[class]), taken * sizeof *blocks);
        count_own(&heap->count[class].transfer_out, taken);
        count_own(&heap->count[class].refill, 1);
        count_own(&heap->count[class].refilled, taken);
    }
    remote_unlock_store();
    return taken;
}

/* Counted as taken by threads without a heap. */
void hs_transfer_empty(void)
{
    for (unsigned class = 0; class < CLASS_COUNT; class++) {
        remote_lock_store();
        while (held[class] > 0) {
            hold(class, held[class] - 1);
            for (uint32_t index = 0; index < hs_class[class].flush; index++)
                hs_give(&hs_no_heap, class, batch(class, held[class])[index]);
            count_own(&hs_no_heap.count[class].transfer_out, hs_class[class].flush);
        }
        remote_unlock_store();
    }
}

void hs_transfer_check(void)
{
    for (unsigned class = 0; class < CLASS_COUNT; class++)
        check(held[class] <= hs_class[class].transfer, "batches <= transfer");
}

void hs_transfer_reset(void)
{
    memset(held, 0, sizeof held);
}
