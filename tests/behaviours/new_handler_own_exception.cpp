// What the new-handler throws, derived from bad_alloc, reaches whoever called operator new.
#include "behaviour.h"

#include <new>

struct OutOfPatience : std::bad_alloc {
    int number = 17;
};

static void throws()
{
    throw OutOfPatience();
}

int main()
{
    volatile size_t bytes = PTRDIFF_MAX;
    std::set_new_handler(throws);
    for (int form = 0; form < 4; form++)
        try {
            void *block = form == 0   ? ::operator new(bytes)
                          : form == 1 ? ::operator new[](bytes)
                          : form == 2 ? ::operator new(bytes, std::align_val_t{64})
                                      : ::operator new[](bytes, std::align_val_t{64});
            expect(false, "form %d of operator new returned %p", form, block);
        } catch (const OutOfPatience &caught) {
            expect(caught.number == 17, "the exception holds %d", caught.number);
        }
}
