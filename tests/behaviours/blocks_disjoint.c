/* No two live blocks overlap, of any sizes: the usable ranges are compared in address order. */
#include "behaviour.h"

static int by_address(const void *left, const void *right)
{
    uintptr_t a = *(const uintptr_t *)left, b = *(const uintptr_t *)right;
    return a < b ? -1 : a > b;
}

int main(void)
{
    static uintptr_t blocks[8000];
    srand(7);
    for (size_t i = 0; i < COUNT_OF(blocks); i++)
        blocks[i] = (uintptr_t)malloc((size_t)rand() % (rand() % 100 ? 3000 : 300000));
    for (size_t i = 0; i < COUNT_OF(blocks); i += 2) {
        free((void *)blocks[i]);
        blocks[i] = (uintptr_t)malloc((size_t)rand() % 5000);
    }
    qsort(blocks, COUNT_OF(blocks), sizeof blocks[0], by_address);
    for (size_t i = 0; i + 1 < COUNT_OF(blocks); i++) {
        uintptr_t end = blocks[i] + malloc_usable_size((void *)blocks[i]);
        expect(blocks[i] != 0 && end <= blocks[i + 1], "the block at %#zx ends at %#zx, in the one at %#zx",
            blocks[i], end, blocks[i + 1]);
    }
    return 0;
}
