/* posix_memalign returns EINVAL for an alignment that is no power of two times the size of a pointer (POSIX.1-2024). */
#include "behaviour.h"

int main(void)
{
    const size_t alignments[] = {0, 1, 2, 4, 3, 5, 7, 9, 12, 15, 17, 24, 40, 48, 100, 4095, 4097, 12288, SIZE_MAX,
        SIZE_MAX - 7, SIZE_MAX / 2};
    int marker;
    errno = UNTOUCHED;
    for (size_t i = 0; i < COUNT_OF(alignments); i++) {
        void *block = &marker;
        int error = posix_memalign(&block, alignments[i], 64);
        expect(error == EINVAL, "posix_memalign with alignment %zu returned %d", alignments[i], error);
        expect(block == &marker, "posix_memalign with alignment %zu changed the pointer to %p", alignments[i], block);
        expect_untouched("posix_memalign with a bad alignment");
    }
    return 0;
}
