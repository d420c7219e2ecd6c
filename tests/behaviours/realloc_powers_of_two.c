/* realloc across powers of two, one byte below, at and above each, keeps both ends of the block. */
#include "behaviour.h"

static void cross(size_t power, int steps)
{
    char *block = malloc(power - 1);
    size_t bytes = power - 1;
    for (int step = 0; step < steps; step++) {
        size_t kept = bytes < 64 ? bytes : 64, next = power - 1 + (size_t)(step + 1) % 3;
        fill(block, kept, power);
        block[bytes - 1] = 99;
        block = realloc(block, next);
        expect(block != NULL, "realloc from %zu to %zu failed", bytes, next);
        expect(next < bytes || block[bytes - 1] == 99, "realloc from %zu to %zu lost the last byte", bytes, next);
        expect_filled(block, kept - 3, power);
        bytes = next;
    }
    free(block);
}

int main(void)
{
    for (size_t power = 16; power <= 2 * MEBI; power *= 2)
        cross(power, 6);
    for (size_t power = 4 * MEBI; power <= 16 * MEBI; power *= 2)
        cross(power, 2);
    return 0;
}
