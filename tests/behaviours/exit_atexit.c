/* Handlers of atexit and on_exit allocate and free, also blocks that main allocated. */
#include "behaviour.h"

static void *blocks[COUNT_OF(TIERS)];

static void at_end(void)
{
    for (size_t i = 0; i < COUNT_OF(TIERS); i++) {
        expect_filled(blocks[i], TIERS[i], i);
        free(blocks[i]);
        blocks[i] = filled_block(TIERS[i], i + 1);
    }
}

static void at_very_end(int status, void *block)
{
    expect(status == 0, "the exit status is %d", status);
    expect_filled(block, 500, 3);
    free(block);
    for (size_t i = 0; i < COUNT_OF(TIERS); i++) {
        expect_filled(blocks[i], TIERS[i], i + 1);
        free(blocks[i]);
    }
    free(filled_block(100, 9));
}

int main(void)
{
    for (size_t i = 0; i < COUNT_OF(TIERS); i++)
        blocks[i] = filled_block(TIERS[i], i);
    on_exit(at_very_end, filled_block(500, 3));
    atexit(at_end);
    return 0;
}
