// operator new calls the new-handler again and again until it gives up by removing itself; then it throws
// ([new.delete.single]).
#include "behaviour.h"

#include <new>

static int calls;

static void give_up_after_five()
{
    if (++calls == 5)
        std::set_new_handler(nullptr);
}

template <typename Call> static void expect_five_calls(const char *call, Call allocate)
{
    calls = 0;
    std::set_new_handler(give_up_after_five);
    bool thrown = false;
    try {
        allocate();
    } catch (const std::bad_alloc &) {
        thrown = true;
    }
    expect(thrown, "%s did not throw", call);
    expect(calls == 5, "%s called the new-handler %d times, 5 were expected", call, calls);
}

int main()
{
    volatile size_t bytes = PTRDIFF_MAX;
    expect_five_calls("operator new", [&] { return ::operator new(bytes); });
    expect_five_calls("operator new[]", [&] { return ::operator new[](bytes); });
    expect_five_calls("aligned operator new", [&] { return ::operator new(bytes, std::align_val_t{64}); });
    expect_five_calls("aligned operator new[]", [&] { return ::operator new[](bytes, std::align_val_t{64}); });
}
