/* calloc of PTRDIFF_MAX bytes or more is NULL with ENOMEM, however they are written as a product. */
#include "behaviour.h"

int main(void)
{
    errno = UNTOUCHED;
    for (size_t i = 0; i < COUNT_OF(TOO_LARGE); i++)
        for (size_t part = 2; part <= 4096; part *= 2) {
            expect_enomem(calloc(TOO_LARGE[i] / part, part), "calloc", TOO_LARGE[i]);
            expect_enomem(calloc(part, TOO_LARGE[i] / part + 1), "calloc", TOO_LARGE[i]);
        }
    return 0;
}
