/* Not even 1 KiB is left: every entry point fails with ENOMEM for small blocks too; after frees small blocks can be
   had again. */
#include "behaviour.h"

/* Far below 1 KiB: no heap has one size of block for both, so that realloc must move. */
enum { SMALL = 40 };

static void *blocks[400000];

/* Until every way to ask for a block of that size, or of the pages it needs, has failed. */
static void take_the_rest(size_t bytes)
{
    void *block;
    for (size_t larger = MEBI; larger > bytes; larger /= 4)
        while (malloc(larger) != NULL)
            ;
    while (posix_memalign(&block, 64, bytes) == 0 || memalign(4096, bytes) != NULL || valloc(bytes) != NULL
        || pvalloc(bytes) != NULL)
        ;
}

int main(void)
{
    within_address_space(256 * MEBI);
    void *kept = filled_block(SMALL, 5), *found = NULL;
    size_t count = 0, bytes = 1024;
    while (count < 10000 && (blocks[count] = malloc(bytes)) != NULL)
        count++;
    expect(count == 10000, "there were only %zu blocks of 1 KiB in 256 MiB", count);
    take_the_rest(bytes);
    while (count < COUNT_OF(blocks) && (blocks[count] = malloc(bytes)) != NULL)
        count++;
    errno = UNTOUCHED;
    expect_enomem(calloc(4, 256), "calloc", bytes);
    expect_enomem(realloc(NULL, bytes), "realloc(NULL)", bytes);
    expect_enomem(realloc(kept, bytes), "realloc", bytes);
    expect_enomem(reallocarray(kept, 4, 256), "reallocarray", bytes);
    expect_enomem(aligned_alloc(64, bytes), "aligned_alloc", bytes);
    expect_enomem(memalign(4096, bytes), "memalign", bytes);
    expect_enomem(valloc(bytes), "valloc", bytes);
    expect_enomem(pvalloc(bytes), "pvalloc", bytes);
    expect(posix_memalign(&found, 64, bytes) == ENOMEM, "posix_memalign did not return ENOMEM");
    expect_filled(kept, SMALL, 5);
    for (size_t i = 0; i < count; i++)
        free(blocks[i]);
    kept = realloc(kept, bytes);
    expect(kept != NULL, "realloc to 1 KiB was refused after 10,000 blocks of that size were freed");
    expect_filled(kept, SMALL, 5);
    expect(calloc(4, 256) != NULL, "calloc of 1 KiB was refused after 10,000 blocks of that size were freed");
    return 0;
}
