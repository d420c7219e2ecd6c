/* What is written to a block stays there, whatever is allocated, resized and freed around it. */
#include "behaviour.h"

int main(void)
{
    static struct {
        unsigned char *at;
        size_t bytes;
    } blocks[500];
    srand(11);
    for (size_t step = 0; step < 10000; step++) {
        size_t i = (size_t)rand() % COUNT_OF(blocks);
        size_t bytes = (size_t)rand() % (step % 50 ? 600 : 60000);
        expect_filled(blocks[i].at, blocks[i].bytes, i);
        if (step % 3) {
            free(blocks[i].at);
            blocks[i].at = malloc(bytes);
        } else {
            size_t kept = bytes < blocks[i].bytes ? bytes : blocks[i].bytes;
            blocks[i].at = realloc(blocks[i].at, bytes + 1);
            expect_filled(blocks[i].at, kept, i);
        }
        blocks[i].bytes = bytes;
        fill(blocks[i].at, bytes, i);
    }
    return 0;
}
