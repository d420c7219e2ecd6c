/* Asks for aligned blocks while the classes above hold free ones, which those then lend. */
#include <malloc.h>
#include <stdlib.h>
#include <string.h>

enum { ALIGNMENT = 64, LEAST = 64, MOST = 1024, LENDER_PERCENT = 125, HELD = 8 };

int main(void)
{
    char *block[HELD];
    for (size_t bytes = LEAST; bytes <= MOST; bytes += ALIGNMENT) {
        for (int index = 0; index < HELD; index++)
            block[index] = malloc(bytes * LENDER_PERCENT / 100);
        for (int index = 0; index < HELD; index++)
            free(block[index]);
        for (int index = 0; index < HELD; index++) {
            block[index] = aligned_alloc(ALIGNMENT, bytes);
            if (malloc_usable_size(block[index]) < bytes)
                return 1;
            memset(block[index], 1, bytes);
        }
        for (int index = 0; index < HELD; index++)
            free(block[index]);
    }
    return 0;
}
