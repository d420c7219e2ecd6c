// A program's own operator new and delete serve its new expressions, arrays and the C++ library too
// ([replacement.functions]).
#include "behaviour.h"

#include <new>
#include <string>

static int allocated, freed;

void *operator new(size_t bytes)
{
    allocated++;
    if (void *block = malloc(bytes ? bytes : 1))
        return block;
    throw std::bad_alloc();
}

void operator delete(void *block) noexcept
{
    freed += block != nullptr;
    free(block);
}

void operator delete(void *block, size_t) noexcept
{
    freed += block != nullptr;
    free(block);
}

int main()
{
    allocated = freed = 0;
    delete new int(3);
    expect(allocated == 1 && freed == 1, "new int: own operators were called %d and %d times", allocated, freed);
    delete[] new int[40];
    expect(allocated == 2 && freed == 2, "new int[40]: own operators were called %d and %d times", allocated, freed);
    ::operator delete(::operator new(8, std::nothrow), std::nothrow);
    expect(allocated == 3 && freed == 3, "nothrow: own operators were called %d and %d times", allocated, freed);
    std::string *text = new std::string(1000, 'x');
    delete text;
    expect(allocated == freed && allocated == 5, "std::string: own operators were called %d and %d times", allocated,
        freed);
}
