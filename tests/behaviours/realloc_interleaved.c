/* realloc of many blocks in turn, as growing arrays do, keeps the contents of all. */
#include "behaviour.h"

int main(void)
{
    static void *blocks[64];
    size_t bytes = 0;
    for (size_t next = 8; next < 40000; next = next * 3 / 2) {
        for (size_t i = 0; i < COUNT_OF(blocks); i++) {
            blocks[i] = realloc(blocks[i], next);
            expect(blocks[i] != NULL, "realloc to %zu failed", next);
            expect_filled(blocks[i], bytes, i);
            fill(blocks[i], next, i);
        }
        bytes = next;
    }
    return 0;
}
