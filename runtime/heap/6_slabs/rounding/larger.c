/* Rounding "larger": the first class above, within the allowance and as aligned, whose level 0 holds a block, lends it. */
#include "6_slabs/rounding/larger.h"

extern const uint32_t hs_lend_end[CLASS_COUNT];
extern const uint32_t hs_lend_mask[CLASS_COUNT];

bool rounding_take_wanted(struct heap *heap, unsigned class, void **block)
{
    for (unsigned larger = class + 1; larger < hs_lend_end[class]; larger++) {
        if ((hs_class[larger].stride & hs_lend_mask[class]) != 0 || hs_lend[larger] == NULL)
            continue;
        *block = hs_lend[larger](heap, larger);
        if (*block != NULL) {
            count_own(&heap->count[class].hit1, 1);
            return true;
        }
    }
    return false;
}
