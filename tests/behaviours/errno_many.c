/* errno stays while the heap grows by 50,000 blocks and shrinks again. */
#include "behaviour.h"

int main(void)
{
    static void *blocks[50000];
    errno = UNTOUCHED;
    for (size_t i = 0; i < COUNT_OF(blocks); i++)
        blocks[i] = malloc(i % 700);
    expect_untouched("one of 50,000 calls of malloc");
    for (size_t i = 0; i < COUNT_OF(blocks); i++)
        free(blocks[i * 7919 % COUNT_OF(blocks)]);
    expect_untouched("one of 50,000 calls of free");
    return 0;
}
