/* A full address space: malloc(1024) is NULL with ENOMEM; after all is freed, as many blocks can be had again, or
   nearly. */
#include "behaviour.h"

static void *blocks[400000];

static size_t take_all(void)
{
    size_t count = 0;
    errno = UNTOUCHED;
    while (count < COUNT_OF(blocks) && (blocks[count] = malloc(1024)) != NULL)
        count++;
    expect(count < COUNT_OF(blocks), "%zu blocks of 1 KiB were had in 256 MiB", count);
    expect(errno == ENOMEM, "malloc failed with errno %d", errno);
    return count;
}

int main(void)
{
    within_address_space(256 * MEBI);
    size_t count = take_all();
    expect(count > 10000, "there were only %zu blocks of 1 KiB in 256 MiB", count);
    for (size_t i = 0; i < count; i++)
        free(blocks[i]);
    size_t again = take_all();
    expect(again >= count / 10 * 9, "%zu blocks were had, %zu after they were freed", count, again);
    return 0;
}
