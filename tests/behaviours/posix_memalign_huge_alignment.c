/* posix_memalign: a power of two beyond the address space is no error of the caller's: ENOMEM. */
#include "behaviour.h"

int main(void)
{
    for (int log2 = 48; log2 < 64; log2++) {
        void *block = NULL;
        int error = posix_memalign(&block, (size_t)1 << log2, 100);
        expect(error == ENOMEM, "posix_memalign with alignment 2^%d returned %d", log2, error);
    }
    return 0;
}
