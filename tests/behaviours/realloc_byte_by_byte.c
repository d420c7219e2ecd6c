/* realloc one byte at a time, up to 5,000 and down to 1, keeps every byte. */
#include "behaviour.h"

int main(void)
{
    unsigned char *block = NULL;
    for (size_t bytes = 1; bytes <= 5000; bytes++) {
        block = realloc(block, bytes);
        block[bytes - 1] = pattern(bytes - 1, 5);
        if (bytes % 97 == 0)
            expect_filled(block, bytes, 5);
    }
    for (size_t bytes = 5000; bytes >= 1; bytes--) {
        block = realloc(block, bytes);
        if (bytes % 97 == 0 || bytes < 100)
            expect_filled(block, bytes, 5);
    }
    free(block);
    return 0;
}
