/* Huge allocations and their realloc leave errno alone. */
#include "behaviour.h"

int main(void)
{
    errno = UNTOUCHED;
    for (size_t mebis = 40; mebis <= 320; mebis *= 2) {
        void *block = malloc(mebis * MEBI);
        expect_untouched("malloc");
        block = realloc(block, 2 * mebis * MEBI);
        expect_untouched("realloc");
        block = realloc(block, mebis * MEBI / 4 * 5);
        expect_untouched("realloc");
        free(block);
        free(calloc(mebis, MEBI));
        expect_untouched("calloc");
        free(aligned_alloc(MEBI, mebis * MEBI));
        expect_untouched("aligned_alloc");
    }
    return 0;
}
