/* calloc: a product that does not fit in size_t is NULL and ENOMEM (C17 7.22.3.2 with DR 400). */
#include "behaviour.h"

int main(void)
{
    const size_t factors[][2] = {{SIZE_MAX, 2}, {2, SIZE_MAX}, {SIZE_MAX / 2 + 1, 2},
        {(size_t)1 << 32, (size_t)1 << 32}, {SIZE_MAX, SIZE_MAX}, {SIZE_MAX / 16 + 1, 16}, {3, SIZE_MAX / 3 + 1},
        {SIZE_MAX / 24 + 2, 24}};
    errno = UNTOUCHED;
    for (size_t i = 0; i < COUNT_OF(factors); i++)
        expect_enomem(calloc(factors[i][0], factors[i][1]), "calloc", factors[i][0]);
    return 0;
}
