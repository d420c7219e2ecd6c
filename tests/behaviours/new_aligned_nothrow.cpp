// operator new and new[] with std::align_val_t and std::nothrow: aligned blocks, and nullptr where there is no memory.
#include "behaviour.h"

#include <new>

int main()
{
    for (size_t alignment = 16; alignment <= MEBI; alignment *= 4) {
        std::align_val_t wanted{alignment};
        void *one = ::operator new(100, wanted, std::nothrow), *many = ::operator new[](100, wanted, std::nothrow);
        expect_aligned(one, alignment, "operator new(nothrow)", 100);
        expect_aligned(many, alignment, "operator new[](nothrow)", 100);
        ::operator delete(one, wanted, std::nothrow);
        ::operator delete[](many, wanted, std::nothrow);
        one = ::operator new(PTRDIFF_MAX, wanted, std::nothrow);
        many = ::operator new[](PTRDIFF_MAX, wanted, std::nothrow);
        expect(one == nullptr && many == nullptr, "operator new(nothrow) of PTRDIFF_MAX bytes succeeded");
    }
}
