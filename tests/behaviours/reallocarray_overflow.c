/* reallocarray: a product that does not fit is NULL with ENOMEM, and the block stays as it was. */
#include "behaviour.h"

int main(void)
{
    const size_t factors[][2] = {{SIZE_MAX, 2}, {2, SIZE_MAX}, {SIZE_MAX / 2 + 1, 2},
        {(size_t)1 << 32, (size_t)1 << 32}, {SIZE_MAX, SIZE_MAX}, {SIZE_MAX / 16 + 1, 16}, {SIZE_MAX / 24 + 2, 24}};
    void *block = filled_block(100, 1);
    errno = UNTOUCHED;
    for (size_t i = 0; i < COUNT_OF(factors); i++) {
        expect_enomem(reallocarray(block, factors[i][0], factors[i][1]), "reallocarray", factors[i][0]);
        expect_enomem(reallocarray(NULL, factors[i][0], factors[i][1]), "reallocarray(NULL)", factors[i][0]);
    }
    expect_filled(block, 100, 1);
    free(block);
    return 0;
}
