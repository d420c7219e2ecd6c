// Aligned operator new of PTRDIFF_MAX bytes or more throws bad_alloc, nothrow returns nullptr, though rounding up
// would wrap.
#include "behaviour.h"

#include <new>

static void *allocate(int form, size_t bytes, size_t alignment)
{
    std::align_val_t wanted{alignment};
    switch (form) {
    case 0:
        return ::operator new(bytes, wanted, std::nothrow);
    case 1:
        return ::operator new[](bytes, wanted, std::nothrow);
    case 2:
        return ::operator new(bytes, wanted);
    default:
        return ::operator new[](bytes, wanted);
    }
}

int main()
{
    for (size_t bytes : TOO_LARGE)
        for (size_t alignment = 32; alignment <= MEBI; alignment *= 8)
            for (int form = 0; form < 4; form++)
                try {
                    void *block = allocate(form, bytes, alignment);
                    expect(block == nullptr && form < 2, "form %d of operator new of %#zx bytes returned %p", form,
                        bytes, block);
                } catch (const std::bad_alloc &) {
                    expect(form >= 2, "form %d of operator new, which is nothrow, threw", form);
                }
}
