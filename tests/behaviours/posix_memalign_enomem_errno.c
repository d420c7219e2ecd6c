/* posix_memalign reports by its value alone: errno stays when there is no memory (posix_memalign(3)). */
#include "behaviour.h"

int main(void)
{
    void *block = NULL;
    errno = UNTOUCHED;
    for (size_t alignment = 8; alignment <= MEBI; alignment *= 4)
        for (size_t i = 0; i < COUNT_OF(TOO_LARGE); i++) {
            expect(posix_memalign(&block, alignment, TOO_LARGE[i]) != 0, "posix_memalign of %#zx bytes succeeded",
                TOO_LARGE[i]);
            expect_untouched("posix_memalign without memory");
        }
    return 0;
}
