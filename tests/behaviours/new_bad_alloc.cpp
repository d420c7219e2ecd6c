// operator new without a new-handler throws std::bad_alloc where there is no memory, in all four throwing forms.
#include "behaviour.h"

#include <new>

template <typename Call> static void expect_bad_alloc(const char *call, size_t bytes, Call allocate)
{
    try {
        void *block = allocate();
        expect(false, "%s of %#zx bytes returned %p", call, bytes, block);
    } catch (const std::bad_alloc &) {
    }
}

int main()
{
    for (size_t bytes : TOO_LARGE) {
        expect_bad_alloc("operator new", bytes, [=] { return ::operator new(bytes); });
        expect_bad_alloc("operator new[]", bytes, [=] { return ::operator new[](bytes); });
    }
    volatile size_t bytes = PTRDIFF_MAX;
    expect_bad_alloc("aligned operator new", bytes, [&] { return ::operator new(bytes, std::align_val_t{64}); });
    expect_bad_alloc("aligned operator new[]", bytes, [&] { return ::operator new[](bytes, std::align_val_t{8192}); });
}
