// operator new(nothrow) calls the new-handler too, and returns nullptr when that gives up, by itself or by throwing
// bad_alloc.
#include "behaviour.h"

#include <new>

static int calls;

static void give_up_after_three()
{
    if (++calls == 3)
        std::set_new_handler(nullptr);
}

static void throws()
{
    calls++;
    throw std::bad_alloc();
}

template <typename Call> static void expect_null(const char *call, Call allocate)
{
    calls = 0;
    std::set_new_handler(give_up_after_three);
    expect(allocate() == nullptr, "%s succeeded", call);
    expect(calls == 3, "%s called the new-handler %d times, 3 were expected", call, calls);
    calls = 0;
    std::set_new_handler(throws);
    expect(allocate() == nullptr, "%s succeeded with a handler that throws", call);
    expect(calls == 1, "%s called a handler that throws %d times", call, calls);
}

int main()
{
    volatile size_t bytes = PTRDIFF_MAX;
    std::align_val_t wanted{64};
    expect_null("operator new(nothrow)", [&] { return ::operator new(bytes, std::nothrow); });
    expect_null("operator new[](nothrow)", [&] { return ::operator new[](bytes, std::nothrow); });
    expect_null("aligned operator new(nothrow)", [&] { return ::operator new(bytes, wanted, std::nothrow); });
    expect_null("aligned operator new[](nothrow)", [&] { return ::operator new[](bytes, wanted, std::nothrow); });
}
