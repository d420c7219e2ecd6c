/* calloc: all bytes are zero, in blocks of all tiers. */
#include "behaviour.h"

int main(void)
{
    for (size_t i = 0; i < COUNT_OF(TIERS); i++)
        expect_zero(calloc(1, TIERS[i]), TIERS[i]);
    return 0;
}
