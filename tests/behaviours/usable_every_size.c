/* malloc_usable_size: at least what was asked on every size to 70,000; the last byte may be written. */
#include "behaviour.h"

int main(void)
{
    for (size_t bytes = 0; bytes <= 70000; bytes++) {
        char *block = malloc(bytes);
        size_t usable = malloc_usable_size(block);
        expect(usable >= bytes, "malloc(%zu) has %zu usable bytes", bytes, usable);
        if (usable > 0)
            block[usable - 1] = 1;
        free(block);
    }
    return 0;
}
