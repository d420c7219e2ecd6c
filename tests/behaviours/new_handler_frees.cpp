// A new-handler that frees memory lets operator new succeed.
#include "behaviour.h"

#include <new>

static void *reserve;
static int calls;

static void free_reserve()
{
    calls++;
    free(reserve);
    reserve = nullptr;
    std::set_new_handler(nullptr);
}

int main()
{
    struct rlimit limit;
    getrlimit(RLIMIT_AS, &limit);
    for (int form = 0; form < 4; form++) {
        reserve = malloc(200 * MEBI);
        limit.rlim_cur = memory_of_process(0) + 100 * MEBI;
        expect(setrlimit(RLIMIT_AS, &limit) == 0, "setrlimit failed");
        calls = 0;
        std::set_new_handler(free_reserve);
        void *block = form == 0   ? ::operator new(150 * MEBI)
                      : form == 1 ? ::operator new[](150 * MEBI, std::nothrow)
                      : form == 2 ? ::operator new(150 * MEBI, std::align_val_t{4096})
                                  : ::operator new(150 * MEBI, std::align_val_t{64}, std::nothrow);
        expect(block != nullptr && calls == 1, "form %d of operator new returned %p after %d calls of the handler",
            form, block, calls);
        ::operator delete(block);
        limit.rlim_cur = limit.rlim_max;
        setrlimit(RLIMIT_AS, &limit);
    }
}
