// operator new throws bad_alloc in a full address space, nothrow returns nullptr; after deletes it works again.
#include "behaviour.h"

#include <new>

int main()
{
    within_address_space(256 * MEBI);
    static void *blocks[100000];
    size_t count = 0;
    try {
        while (count < COUNT_OF(blocks))
            blocks[count++] = ::operator new(100000);
        expect(false, "%zu blocks of 100,000 bytes were had in 256 MiB", count);
    } catch (const std::bad_alloc &) {
        count--;
    }
    expect(count > 200, "there were only %zu blocks of 100,000 bytes in 256 MiB", count);
    expect(::operator new(200000, std::nothrow) == nullptr, "operator new(nothrow) succeeded in a full address space");
    for (size_t i = 0; i < count; i++)
        ::operator delete(blocks[i]);
    ::operator delete(::operator new(100000 * count / 2));
}
