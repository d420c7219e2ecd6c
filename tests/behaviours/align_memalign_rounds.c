/* memalign: an alignment that is no power of two is rounded up to one (glibc). */
#include "behaviour.h"

int main(void)
{
    const struct {
        size_t asked, given;
    } cases[] = {{0, 16}, {1, 16}, {17, 32}, {24, 32}, {48, 64}, {100, 128}, {4095, 4096}, {4097, 8192}, {100000,
        131072}};
    for (size_t i = 0; i < COUNT_OF(cases); i++)
        for (int n = 0; n < 5; n++)
            expect_aligned(memalign(cases[i].asked, 160), cases[i].given, "memalign", 160);
    return 0;
}
