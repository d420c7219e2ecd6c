/* posix_memalign returns ENOMEM for a size that no object has, and leaves the pointer as it was. */
#include "behaviour.h"

int main(void)
{
    int marker;
    for (size_t alignment = 8; alignment <= MEBI; alignment *= 4)
        for (size_t i = 0; i < COUNT_OF(TOO_LARGE); i++) {
            void *block = &marker;
            int error = posix_memalign(&block, alignment, TOO_LARGE[i]);
            expect(error == ENOMEM, "posix_memalign(%zu, %#zx) returned %d", alignment, TOO_LARGE[i], error);
            expect(block == &marker, "posix_memalign(%zu, %#zx) changed the pointer to %p", alignment, TOO_LARGE[i],
                block);
        }
    return 0;
}
