/* Out of memory again and again, with one block freed between: the one that is freed can be had again each time. */
#include "behaviour.h"

static void *blocks[4000];

int main(void)
{
    within_address_space(256 * MEBI);
    size_t count = 0;
    while (count < COUNT_OF(blocks) && (blocks[count] = malloc(262144)) != NULL)
        count++;
    expect(count > 60 && count < COUNT_OF(blocks), "%zu blocks of 256 KiB were had in 256 MiB", count);
    for (size_t i = 0; i < 500; i++) {
        size_t place = i * 7919 % count;
        free(blocks[place]);
        blocks[place] = malloc(262144);
        expect(blocks[place] != NULL, "a block that was freed cannot be had again in turn %zu", i);
    }
    return 0;
}
