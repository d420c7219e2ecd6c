// operator new and delete that succeed leave errno alone.
#include "behaviour.h"

#include <new>

int main()
{
    errno = UNTOUCHED;
    for (size_t bytes : TIERS) {
        void *plain = ::operator new(bytes), *aligned = ::operator new(bytes, std::align_val_t{256}),
            *huge = ::operator new[](40 * MEBI);
        expect_untouched("operator new");
        ::operator delete(plain, bytes);
        ::operator delete(aligned, bytes, std::align_val_t{256});
        ::operator delete[](huge);
        expect_untouched("operator delete");
    }
}
