/* mallinfo2: large and huge blocks count in uordblks + hblkhd while they live. */
#include "behaviour.h"

static size_t in_use(void)
{
    struct mallinfo2 info = mallinfo2();
    return info.uordblks + info.hblkhd;
}

int main(void)
{
    const size_t mebis[] = {1, 5, 20, 40, 200};
    for (size_t i = 0; i < COUNT_OF(mebis); i++) {
        size_t before = in_use();
        void *block = malloc(mebis[i] * MEBI);
        size_t grown = in_use() - before;
        expect(grown >= mebis[i] * MEBI, "%zu MiB made uordblks + hblkhd grow by %zu", mebis[i], grown);
        free(block);
        size_t left = in_use() - before;
        expect((intptr_t)left < (intptr_t)MEBI / 2, "%zu MiB freed left uordblks + hblkhd %zd up", mebis[i],
            (ssize_t)left);
    }
    return 0;
}
