/* A full address space: every entry point fails with ENOMEM; a failed realloc keeps the block; posix_memalign says
   so by its value. */
#include "behaviour.h"

int main(void)
{
    within_address_space(256 * MEBI);
    void *kept = filled_block(5000, 5), *none = NULL;
    size_t bytes = 2 * MEBI;
    for (size_t taken = 64 * MEBI; taken >= MEBI; taken /= 4)
        while (malloc(taken) != NULL || memalign(8192, taken) != NULL)
            ;
    errno = UNTOUCHED;
    expect_enomem(malloc(bytes), "malloc", bytes);
    expect_enomem(calloc(2, bytes / 2), "calloc", bytes);
    expect_enomem(realloc(NULL, bytes), "realloc(NULL)", bytes);
    expect_enomem(realloc(kept, bytes), "realloc", bytes);
    expect_enomem(reallocarray(kept, 2, bytes / 2), "reallocarray", bytes);
    expect_enomem(aligned_alloc(16, bytes), "aligned_alloc", bytes);
    expect_enomem(aligned_alloc(MEBI, bytes), "aligned_alloc", bytes);
    expect_enomem(memalign(4096, bytes), "memalign", bytes);
    expect_enomem(valloc(bytes), "valloc", bytes);
    expect_enomem(pvalloc(bytes), "pvalloc", bytes);
    int error = posix_memalign(&none, 64, bytes);
    expect(error == ENOMEM && none == NULL, "posix_memalign returned %d and %p", error, none);
    expect_filled(kept, 5000, 5);
    return 0;
}
