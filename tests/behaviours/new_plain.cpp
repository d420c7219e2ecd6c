// operator new and delete ([new.delete.single]): 16-aligned, as large as asked, all of it writable, on all tiers.
#include "behaviour.h"

#include <new>

int main()
{
    void *blocks[COUNT_OF(TIERS)];
    for (size_t i = 0; i < COUNT_OF(TIERS); i++) {
        blocks[i] = ::operator new(TIERS[i]);
        if (TIERS[i] % 16 == 0)
            expect_aligned(blocks[i], 16, "operator new", TIERS[i]);
        expect(malloc_usable_size(blocks[i]) >= TIERS[i], "operator new of %zu bytes has too few", TIERS[i]);
        fill(blocks[i], TIERS[i], i);
    }
    for (size_t i = 0; i < COUNT_OF(TIERS); i++) {
        expect_filled(blocks[i], TIERS[i], i);
        ::operator delete(blocks[i]);
    }
}
