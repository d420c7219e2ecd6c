/* Aligned requests of size 0 return aligned pointers that can be freed, each its own. */
#include "behaviour.h"

int main(void)
{
    for (size_t alignment = 16; alignment <= MEBI; alignment *= 4) {
        void *first = memalign(alignment, 0), *second = aligned_alloc(alignment, 0), *third = NULL;
        expect(posix_memalign(&third, alignment, 0) == 0, "posix_memalign(%zu, 0) failed", alignment);
        expect_aligned(first, alignment, "memalign", 0);
        expect_aligned(second, alignment, "aligned_alloc", 0);
        expect_aligned(third, alignment, "posix_memalign", 0);
        expect(first != second && second != third && first != third, "two live blocks are at %p", first);
        free(first);
        free(second);
        free(third);
    }
    return 0;
}
