/* valloc and pvalloc of PTRDIFF_MAX bytes or more are NULL with ENOMEM, though rounding up to pages would wrap. */
#include "behaviour.h"

int main(void)
{
    errno = UNTOUCHED;
    for (size_t i = 0; i < COUNT_OF(TOO_LARGE); i++) {
        expect_enomem(valloc(TOO_LARGE[i]), "valloc", TOO_LARGE[i]);
        expect_enomem(pvalloc(TOO_LARGE[i]), "pvalloc", TOO_LARGE[i]);
    }
    return 0;
}
