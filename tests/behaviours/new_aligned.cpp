// operator new and new[] with std::align_val_t: every power of two to 1 MiB, on all tiers.
#include "behaviour.h"

#include <new>

int main()
{
    for (size_t alignment = 1; alignment <= MEBI; alignment *= 2)
        for (size_t i = 0; i < COUNT_OF(TIERS); i++) {
            std::align_val_t wanted{alignment};
            char *one = (char *)::operator new(TIERS[i], wanted), *many = (char *)::operator new[](TIERS[i], wanted);
            expect_aligned(one, alignment, "operator new", TIERS[i]);
            expect_aligned(many, alignment, "operator new[]", TIERS[i]);
            one[0] = one[TIERS[i] - 1] = many[0] = many[TIERS[i] - 1] = 1;
            ::operator delete(one, wanted);
            ::operator delete[](many, wanted);
        }
}
