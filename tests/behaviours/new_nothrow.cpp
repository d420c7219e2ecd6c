// operator new(nothrow) and new[](nothrow) give blocks as the plain forms do; each delete(nothrow) takes them.
#include "behaviour.h"

#include <new>

int main()
{
    for (size_t i = 0; i < COUNT_OF(TIERS); i++) {
        void *one = ::operator new(TIERS[i], std::nothrow), *many = ::operator new[](TIERS[i], std::nothrow);
        expect(one != nullptr && many != nullptr && one != many, "operator new of %zu bytes gave %p and %p", TIERS[i],
            one, many);
        fill(one, TIERS[i], 1);
        fill(many, TIERS[i], 2);
        expect_filled(one, TIERS[i], 1);
        ::operator delete(one, std::nothrow);
        ::operator delete[](many, std::nothrow);
    }
}
