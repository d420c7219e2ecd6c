/* Constructors and destructors of the program (attributes) allocate and free before and after main. */
#include "behaviour.h"

static void *early[30];

__attribute__((constructor(101))) static void at_start(void)
{
    for (size_t i = 0; i < COUNT_OF(early); i++)
        early[i] = filled_block(TIERS[i % 20], i);
}

__attribute__((destructor(101))) static void at_end(void)
{
    for (size_t i = 0; i < COUNT_OF(early); i++) {
        expect_filled(early[i], TIERS[i % 20], i);
        free(early[i]);
        free(filled_block(TIERS[i % 20], i));
    }
}

int main(void)
{
    for (size_t i = 0; i < COUNT_OF(early); i++) {
        expect_filled(early[i], TIERS[i % 20], i);
        early[i] = realloc(early[i], TIERS[i % 20]);
    }
    return 0;
}
