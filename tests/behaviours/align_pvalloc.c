/* pvalloc: page-aligned, and the size is rounded up to whole pages. */
#include "behaviour.h"

int main(void)
{
    for (size_t bytes = 1; bytes <= 4 * MEBI; bytes = bytes * 3 + 1) {
        size_t rounded = (bytes + 4095) / 4096 * 4096;
        char *block = pvalloc(bytes);
        expect_aligned(block, 4096, "pvalloc", bytes);
        expect(malloc_usable_size(block) >= rounded, "pvalloc(%zu) has %zu usable bytes", bytes,
            malloc_usable_size(block));
        memset(block, 1, rounded);
        free(block);
    }
    return 0;
}
