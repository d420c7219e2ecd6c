/* Both forms of operator delete take what malloc made where another form of operator new had a block, of any tier. */
#include "behaviour.h"

#include <new>

int main()
{
    static const size_t sizes[] = {100, 100'000, 20 * MEBI};
    for (size_t bytes : sizes)
        for (int round = 0; round < 3; round++) {
            ::operator delete(::operator new(bytes));
            ::operator delete[](malloc(bytes));
            ::operator delete[](::operator new[](bytes));
            ::operator delete(malloc(bytes));
        }
    return 0;
}
