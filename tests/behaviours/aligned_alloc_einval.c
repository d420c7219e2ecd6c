/* aligned_alloc: an alignment that is no power of two is not supported: NULL with EINVAL (C17 7.22.3.1,
   POSIX.1-2024). */
#include "behaviour.h"

int main(void)
{
    const size_t alignments[] = {0, 3, 5, 6, 7, 9, 12, 15, 17, 24, 40, 48, 100, 4095, 4097, 12288, SIZE_MAX,
        SIZE_MAX / 2};
    for (size_t i = 0; i < COUNT_OF(alignments); i++) {
        errno = UNTOUCHED;
        void *block = aligned_alloc(alignments[i], alignments[i]);
        expect(block == NULL, "aligned_alloc with alignment %zu returned %p", alignments[i], block);
        expect(errno == EINVAL, "aligned_alloc with alignment %zu set errno to %d", alignments[i], errno);
    }
    return 0;
}
