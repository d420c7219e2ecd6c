// operator new[] and delete[]: as large as asked, all of it writable, on all tiers.
#include "behaviour.h"

#include <new>

int main()
{
    void *blocks[COUNT_OF(TIERS)];
    for (size_t i = 0; i < COUNT_OF(TIERS); i++)
        fill(blocks[i] = ::operator new[](TIERS[i]), TIERS[i], i);
    for (size_t i = 0; i < COUNT_OF(TIERS); i++) {
        expect_filled(blocks[i], TIERS[i], i);
        ::operator delete[](blocks[i]);
    }
}
