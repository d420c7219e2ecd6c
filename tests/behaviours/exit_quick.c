/* Handlers of at_quick_exit allocate and free. */
#include "behaviour.h"

static void *block;

static void at_end(void)
{
    expect_filled(block, 700, 4);
    free(block);
    free(filled_block(100000, 5));
}

int main(void)
{
    block = filled_block(700, 4);
    at_quick_exit(at_end);
    quick_exit(0);
}
