/* malloc: large blocks are 16-aligned, whatever their size. */
#include "behaviour.h"

int main(void)
{
    for (size_t bytes = 65536; bytes <= 64 * MEBI; bytes *= 2)
        for (size_t more = 0; more < 20; more += 3) {
            void *block = malloc(bytes + more);
            expect_aligned(block, 16, "malloc", bytes + more);
            free(block);
        }
    return 0;
}
