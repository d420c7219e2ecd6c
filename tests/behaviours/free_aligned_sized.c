/* free_aligned_sized(p, a, n) frees a block of aligned_alloc(a, n), and does nothing with NULL; errno stays (C23
   7.24.3.5). */
#include "behaviour.h"

#include <dlfcn.h>

int main(void)
{
    void (*release)(void *, size_t, size_t) = (void (*)(void *, size_t, size_t))dlsym(RTLD_DEFAULT,
        "free_aligned_sized");
    expect(release != NULL, "there is no free_aligned_sized");
    errno = UNTOUCHED;
    for (size_t alignment = 8; alignment <= 4 * MEBI; alignment *= 2)
        for (size_t i = 0; i < COUNT_OF(TIERS); i++) {
            char *block = aligned_alloc(alignment, TIERS[i]);
            block[0] = block[TIERS[i] - 1] = 1;
            release(block, alignment, TIERS[i]);
            release(NULL, alignment, TIERS[i]);
        }
    expect_untouched("free_aligned_sized");
    expect(memory_of_process(1) < 64 * MEBI, "%zu bytes are resident", memory_of_process(1));
    return 0;
}
