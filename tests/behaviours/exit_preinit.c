/* A function of .preinit_array, which runs before any constructor, allocates what main uses. */
#include "behaviour.h"

static void *block;

static void before_all(void)
{
    block = filled_block(3000, 6);
    free(malloc(100000));
}

__attribute__((section(".preinit_array"), used)) static void (*const entry)(void) = before_all;

int main(void)
{
    expect(block != NULL, "the function did not run");
    expect_filled(block, 3000, 6);
    free(block);
    return 0;
}
