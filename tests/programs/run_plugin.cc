/* A plug-in that brings the C++ library along: how many of four forms of operator new throw when there is no memory. */
#include <cstdint>
#include <new>

template <typename Allocate> static int throws_one(Allocate allocate)
{
    try {
        return allocate() == nullptr ? 100 : 1000;
    } catch (const std::bad_alloc &) {
        return 1;
    }
}

extern "C" int throws()
{
    volatile std::size_t too_much = PTRDIFF_MAX;
    constexpr std::align_val_t wide{64};
    return throws_one([&] { return ::operator new(too_much); }) + throws_one([&] { return ::operator new[](too_much); }) +
           throws_one([&] { return ::operator new(too_much, wide); }) +
           throws_one([&] { return ::operator new[](too_much, wide); }) +
           throws_one([&] { return ::operator new(too_much, std::nothrow); });
}
