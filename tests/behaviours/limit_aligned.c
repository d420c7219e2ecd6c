/* aligned_alloc and memalign of PTRDIFF_MAX bytes or more are NULL with ENOMEM at every alignment, which together may wrap. */
#include "behaviour.h"

int main(void)
{
    errno = UNTOUCHED;
    for (size_t alignment = 8; alignment > 0; alignment *= 2) /* until it wraps */
        for (size_t i = 0; i < COUNT_OF(TOO_LARGE); i++) {
            expect_enomem(aligned_alloc(alignment, TOO_LARGE[i]), "aligned_alloc", TOO_LARGE[i]);
            expect_enomem(memalign(alignment, TOO_LARGE[i]), "memalign", TOO_LARGE[i]);
        }
    return 0;
}
