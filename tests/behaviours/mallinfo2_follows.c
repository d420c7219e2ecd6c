/* mallinfo2: uordblks + hblkhd grow by what is allocated, and most of it goes when it is freed. */
#include "behaviour.h"

static size_t in_use(void)
{
    struct mallinfo2 info = mallinfo2();
    return info.uordblks + info.hblkhd;
}

int main(void)
{
    static void *blocks[10000];
    size_t before = in_use(), asked = COUNT_OF(blocks) * 500;
    for (size_t i = 0; i < COUNT_OF(blocks); i++)
        blocks[i] = malloc(500);
    size_t grown = in_use() - before;
    expect(grown >= asked && grown < 3 * asked, "%zu bytes asked made uordblks + hblkhd grow by %zu", asked, grown);
    for (size_t i = 0; i < COUNT_OF(blocks); i++)
        free(blocks[i]);
    size_t left = in_use() - before;
    expect((intptr_t)left < (intptr_t)asked / 2, "%zu bytes freed left uordblks + hblkhd at %zd", asked, (ssize_t)left);
    return 0;
}
