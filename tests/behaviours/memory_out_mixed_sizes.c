/* Memory freed as blocks of one size serves others: 1 KiB after 100 KiB after 1 KiB, in a full address space. */
#include "behaviour.h"

static void *blocks[400000];

static size_t take_all(size_t bytes)
{
    size_t count = 0;
    while (count < COUNT_OF(blocks) && (blocks[count] = malloc(bytes)) != NULL)
        count++;
    return count;
}

int main(void)
{
    within_address_space(256 * MEBI);
    size_t sizes[] = {1024, 102400, 3000, 10240, 1024};
    for (size_t i = 0; i < COUNT_OF(sizes); i++) {
        size_t count = take_all(sizes[i]);
        expect(count * sizes[i] > 10 * MEBI, "only %zu blocks of %zu bytes were had in 256 MiB, in turn %zu", count,
            sizes[i], i);
        while (count-- > 0)
            free(blocks[count]);
    }
    return 0;
}
