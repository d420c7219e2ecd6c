/* calloc aligns as malloc does. */
#include "behaviour.h"

int main(void)
{
    for (size_t count = 1; count <= 5000; count += 3) {
        void *block = calloc(count, 16);
        expect_aligned(block, 16, "calloc", count * 16);
        free(block);
    }
    return 0;
}
