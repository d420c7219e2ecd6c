/* malloc_usable_size after realloc, as for malloc; and the block still grows when all of it has been used. */
#include "behaviour.h"

int main(void)
{
    void *block = NULL;
    for (size_t i = 0; i < 40; i++) {
        size_t bytes = TIERS[i * 11 % COUNT_OF(TIERS)];
        block = realloc(block, bytes);
        size_t usable = malloc_usable_size(block);
        expect(usable >= bytes, "realloc to %zu has %zu usable bytes", bytes, usable);
        fill(block, usable, i);
        block = realloc(block, usable + 1);
        expect(malloc_usable_size(block) > usable, "realloc to %zu has %zu usable bytes", usable + 1,
            malloc_usable_size(block));
        expect_filled(block, usable, i);
    }
    free(block);
    return 0;
}
