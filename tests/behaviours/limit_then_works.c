/* Requests that are too large leave the heap as it was. */
#include "behaviour.h"

int main(void)
{
    for (int turn = 0; turn < 50; turn++)
        for (size_t i = 0; i < COUNT_OF(TIERS); i++) {
            size_t too_large = TOO_LARGE[i % COUNT_OF(TOO_LARGE)];
            expect(malloc(too_large) == NULL && calloc(1, too_large) == NULL, "%#zx bytes were granted", too_large);
            char *block = malloc(TIERS[i]);
            expect(block != NULL, "malloc(%zu) failed after a request for %#zx", TIERS[i], too_large);
            block[0] = block[TIERS[i] - 1] = 1;
            free(block);
        }
    return 0;
}
