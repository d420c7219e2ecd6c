/* calloc: all bytes are zero in huge blocks, fresh and after one was written and freed. */
#include "behaviour.h"

int main(void)
{
    const size_t mebis[] = {31, 40};
    for (size_t i = 0; i < 2 * COUNT_OF(mebis); i++) {
        size_t bytes = mebis[i % COUNT_OF(mebis)] * MEBI;
        char *block = calloc(bytes / 16, 16);
        expect(block != NULL, "calloc of %zu bytes failed: %s", bytes, strerror(errno));
        for (size_t place = 0; place < bytes; place += 40960) {
            expect_zero(block + place, 64);
            memset(block + place, 0xa5, 64);
        }
        expect_zero(block + bytes - 64, 64);
        block[bytes - 1] = 1;
        free(block);
    }
    return 0;
}
