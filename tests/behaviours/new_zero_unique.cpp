// operator new of 0 bytes: not null, and a different pointer each time, in every form.
#include "behaviour.h"

#include <initializer_list>
#include <new>

int main()
{
    std::align_val_t wanted{64};
    void *blocks[] = {
        ::operator new(0),
        ::operator new(0),
        ::operator new[](0),
        ::operator new(0, std::nothrow),
        ::operator new[](0, std::nothrow),
        ::operator new(0, wanted),
        ::operator new[](0, wanted),
        ::operator new(0, wanted, std::nothrow),
    };
    for (size_t i = 0; i < COUNT_OF(blocks); i++) {
        expect(blocks[i] != nullptr, "form %zu of operator new(0) returned nullptr", i);
        for (size_t k = 0; k < i; k++)
            expect(blocks[i] != blocks[k], "operator new(0) returned %p twice", blocks[i]);
    }
    for (size_t i : {0, 1, 3})
        ::operator delete(blocks[i]);
    for (size_t i : {2, 4})
        ::operator delete[](blocks[i]);
    for (size_t i : {5, 7})
        ::operator delete(blocks[i], wanted);
    ::operator delete[](blocks[6], wanted);
}
