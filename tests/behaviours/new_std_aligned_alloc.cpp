// std::aligned_alloc and std::free, std::calloc and std::realloc are the C library's ([c.malloc]).
#include "behaviour.h"

#include <cstdlib>

int main()
{
    for (size_t alignment = 16; alignment <= MEBI; alignment *= 2) {
        void *block = std::aligned_alloc(alignment, 3 * alignment);
        expect_aligned(block, alignment, "std::aligned_alloc", 3 * alignment);
        std::free(block);
    }
    void *block = std::realloc(std::calloc(10, 10), 1000);
    expect_zero(block, 100);
    std::free(block);
}
