/* A full address space: malloc(64 MiB) is NULL with ENOMEM; after all is freed, as many blocks can be had again. */
#include "behaviour.h"

static void *blocks[64];

static size_t take_all(void)
{
    size_t count = 0;
    errno = UNTOUCHED;
    while (count < COUNT_OF(blocks) && (blocks[count] = malloc(64 * MEBI)) != NULL)
        memset(blocks[count++], 1, 100);
    expect(count < COUNT_OF(blocks), "%zu blocks of 64 MiB were had in 1 GiB", count);
    expect(errno == ENOMEM, "malloc failed with errno %d", errno);
    return count;
}

int main(void)
{
    within_address_space(1024 * MEBI);
    size_t count = take_all();
    expect(count >= 1, "not one block of 64 MiB was had in 1 GiB");
    for (size_t i = 0; i < count; i++)
        free(blocks[i]);
    size_t again = take_all();
    expect(again == count, "%zu blocks were had, %zu after they were freed", count, again);
    return 0;
}
