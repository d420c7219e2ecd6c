/* malloc_usable_size of aligned blocks: at least what was asked, and all of it may be written. */
#include "behaviour.h"

int main(void)
{
    for (size_t alignment = 16; alignment <= MEBI; alignment *= 2)
        for (size_t bytes = 1; bytes < 200000; bytes = bytes * 6 + 1) {
            void *first = memalign(alignment, bytes), *second = memalign(alignment, bytes);
            size_t usable = malloc_usable_size(first);
            expect(usable >= bytes, "memalign(%zu, %zu) has %zu usable bytes", alignment, bytes, usable);
            fill(first, usable, 1);
            fill(second, malloc_usable_size(second), 2);
            expect_filled(first, usable, 1);
            free(first);
            free(second);
        }
    return 0;
}
