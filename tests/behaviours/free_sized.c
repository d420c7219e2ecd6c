/* free_sized(p, n) frees a block of malloc(n) or calloc, and does nothing with NULL; errno stays (C23 7.24.3.4). */
#include "behaviour.h"

#include <dlfcn.h>

int main(void)
{
    void (*release)(void *, size_t) = (void (*)(void *, size_t))dlsym(RTLD_DEFAULT, "free_sized");
    expect(release != NULL, "there is no free_sized");
    errno = UNTOUCHED;
    for (int turn = 0; turn < 10; turn++)
        for (size_t i = 0; i < COUNT_OF(TIERS); i++) {
            char *block = turn % 2 ? malloc(TIERS[i]) : calloc(1, TIERS[i]);
            block[0] = block[TIERS[i] - 1] = 1;
            release(block, TIERS[i]);
            release(NULL, TIERS[i]);
        }
    expect_untouched("free_sized");
    expect(memory_of_process(1) < 64 * MEBI, "%zu bytes are resident", memory_of_process(1));
    return 0;
}
