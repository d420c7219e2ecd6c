/* free of a huge block leaves errno alone, though it is a system call (POSIX.1-2024). */
#include "behaviour.h"

int main(void)
{
    for (size_t mebis = 1; mebis <= 1024; mebis *= 2) {
        void *plain = malloc(mebis * MEBI), *aligned = memalign(2 * MEBI, mebis * MEBI), *zero = calloc(mebis, MEBI);
        expect(plain && aligned && zero, "a block of %zu MiB was refused", mebis);
        errno = UNTOUCHED;
        free(plain);
        free(aligned);
        free(zero);
        expect_untouched("free");
    }
    return 0;
}
