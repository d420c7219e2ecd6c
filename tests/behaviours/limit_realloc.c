/* realloc(NULL, n) and reallocarray(NULL, 1, n) of PTRDIFF_MAX bytes or more are NULL with ENOMEM. */
#include "behaviour.h"

int main(void)
{
    errno = UNTOUCHED;
    for (size_t i = 0; i < COUNT_OF(TOO_LARGE); i++) {
        expect_enomem(realloc(NULL, TOO_LARGE[i]), "realloc", TOO_LARGE[i]);
        expect_enomem(reallocarray(NULL, 1, TOO_LARGE[i]), "reallocarray", TOO_LARGE[i]);
        expect_enomem(reallocarray(NULL, TOO_LARGE[i] / 4 + 1, 4), "reallocarray", TOO_LARGE[i]);
    }
    return 0;
}
