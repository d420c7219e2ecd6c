/* malloc_usable_size of huge blocks: at least what was asked, writable to the end. */
#include "behaviour.h"

int main(void)
{
    for (size_t bytes = MEBI - 1; bytes < 256 * MEBI; bytes = bytes * 3 + 4099) {
        char *block = malloc(bytes), *aligned = memalign(65536, bytes);
        expect(malloc_usable_size(block) >= bytes, "malloc(%zu) has %zu usable bytes", bytes,
            malloc_usable_size(block));
        expect(malloc_usable_size(aligned) >= bytes, "memalign(65536, %zu) has %zu usable bytes", bytes,
            malloc_usable_size(aligned));
        block[malloc_usable_size(block) - 1] = 1;
        aligned[malloc_usable_size(aligned) - 1] = 1;
        free(block);
        free(aligned);
    }
    return 0;
}
