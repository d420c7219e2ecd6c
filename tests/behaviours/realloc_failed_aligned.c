/* A failed realloc leaves an aligned block as it was. */
#include "behaviour.h"

int main(void)
{
    for (size_t alignment = 32; alignment <= 4 * MEBI; alignment *= 4) {
        void *block = memalign(alignment, 5000);
        fill(block, 5000, alignment);
        errno = UNTOUCHED;
        expect_enomem(realloc(block, SIZE_MAX - 4096), "realloc", SIZE_MAX - 4096);
        expect_enomem(reallocarray(block, SIZE_MAX / 8, 7), "reallocarray", SIZE_MAX / 8);
        expect_filled(block, 5000, alignment);
        free(block);
    }
    return 0;
}
