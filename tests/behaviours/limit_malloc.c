/* malloc of PTRDIFF_MAX bytes or more is NULL with ENOMEM. */
#include "behaviour.h"

int main(void)
{
    errno = UNTOUCHED;
    for (size_t i = 0; i < COUNT_OF(TOO_LARGE); i++)
        expect_enomem(malloc(TOO_LARGE[i]), "malloc", TOO_LARGE[i]);
    return 0;
}
