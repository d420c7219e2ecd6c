// Every operator delete does nothing with nullptr, and leaves errno alone.
#include "behaviour.h"

#include <new>

int main()
{
    std::align_val_t wanted{64};
    errno = UNTOUCHED;
    ::operator delete(nullptr);
    ::operator delete[](nullptr);
    ::operator delete(nullptr, std::nothrow);
    ::operator delete[](nullptr, std::nothrow);
    ::operator delete(nullptr, (size_t)10);
    ::operator delete[](nullptr, (size_t)10);
    ::operator delete(nullptr, wanted);
    ::operator delete[](nullptr, wanted);
    ::operator delete(nullptr, wanted, std::nothrow);
    ::operator delete[](nullptr, wanted, std::nothrow);
    ::operator delete(nullptr, (size_t)10, wanted);
    ::operator delete[](nullptr, (size_t)10, wanted);
    expect_untouched("operator delete(nullptr)");
}
