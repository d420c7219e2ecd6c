/* valloc: page-aligned. */
#include "behaviour.h"

int main(void)
{
    for (size_t bytes = 1; bytes <= 4 * MEBI; bytes = bytes * 3 + 1) {
        char *block = valloc(bytes);
        expect_aligned(block, 4096, "valloc", bytes);
        block[bytes - 1] = 1;
        free(block);
    }
    return 0;
}
