/* mallinfo: the same fields as mallinfo2, in int. */
#include "behaviour.h"

int main(void)
{
    for (size_t i = 0; i < COUNT_OF(TIERS); i++)
        malloc(TIERS[i]);
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
    struct mallinfo narrow = mallinfo();
    struct mallinfo2 wide = mallinfo2();
    expect(narrow.arena == (int)wide.arena, "arena is %d and %zu", narrow.arena, wide.arena);
    expect(narrow.hblks == (int)wide.hblks, "hblks is %d and %zu", narrow.hblks, wide.hblks);
    expect(narrow.hblkhd == (int)wide.hblkhd, "hblkhd is %d and %zu", narrow.hblkhd, wide.hblkhd);
    expect(narrow.uordblks == (int)wide.uordblks, "uordblks is %d and %zu", narrow.uordblks, wide.uordblks);
    expect(narrow.fordblks == (int)wide.fordblks, "fordblks is %d and %zu", narrow.fordblks, wide.fordblks);
    expect(narrow.uordblks + narrow.hblkhd > 4000000, "only %d bytes are in use", narrow.uordblks + narrow.hblkhd);
    return 0;
}
