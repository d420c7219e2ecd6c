/* malloc_usable_size: at least what was asked, and all of it may be written, on every size to 5,000. */
#include "behaviour.h"

int main(void)
{
    for (size_t bytes = 0; bytes <= 5000; bytes += bytes < 1200 ? 1 : 7) {
        void *blocks[3];
        for (size_t i = 0; i < 3; i++) {
            blocks[i] = malloc(bytes);
            size_t usable = malloc_usable_size(blocks[i]);
            expect(usable >= bytes, "malloc(%zu) has %zu usable bytes", bytes, usable);
            fill(blocks[i], usable, i);
        }
        for (size_t i = 0; i < 3; i++) {
            expect_filled(blocks[i], malloc_usable_size(blocks[i]), i);
            free(blocks[i]);
        }
    }
    return 0;
}
