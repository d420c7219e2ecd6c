/* realloc of a large block page by page, with a neighbour in its way and without, keeps every byte. */
#include "behaviour.h"

int main(void)
{
    void *block = filled_block(40960, 3), *neighbour = NULL;
    size_t bytes = 40960;
    for (int step = 0; step < 60; step++) {
        size_t next = step < 40 ? bytes + 4096 : bytes - 8192;
        block = realloc(block, next);
        expect(block != NULL, "realloc from %zu to %zu failed", bytes, next);
        expect_filled(block, bytes < next ? bytes : next, 3);
        fill(block, bytes = next, 3);
        if (step % 3 == 0)
            neighbour = filled_block(4096 * (1 + (size_t)step % 5), 4);
        else if (step % 3 == 1)
            free(neighbour);
    }
    free(block);
    return 0;
}
