/* Pairs of malloc and free, for instruction counts: `pairs mixed|BYTES COUNT [dry]`; dry, only the loop runs. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { SLOTS = 400, LEAST = 16, SIZES = 1009 }; /* mixed: 16 to 1,024 bytes, 400 blocks live */

static void *slot[SLOTS];

/* Marsaglia, "Xorshift RNGs", Journal of Statistical Software 8(14), 2003. */
static uint32_t draw(uint32_t *state)
{
    *state ^= *state << 13;
    *state ^= *state >> 17;
    *state ^= *state << 5;
    return *state;
}

static void *hidden(void *block)
{
    __asm__ volatile("" : "+r"(block) : : "memory");
    return block;
}

static void fixed(long pairs, size_t bytes, int allocate)
{
    for (long pair = 0; pair < pairs; pair++) {
        if (allocate)
            free(hidden(malloc(bytes)));
        else
            hidden((void *)bytes);
    }
}

static void mixed(long pairs, int allocate)
{
    uint32_t state = 1;
    for (long pair = 0; pair < pairs; pair++) {
        uint32_t place = draw(&state) % SLOTS;
        size_t bytes = LEAST + draw(&state) % SIZES;
        if (allocate) {
            free(slot[place]);
            slot[place] = hidden(malloc(bytes));
        } else {
            slot[place] = hidden((void *)bytes);
        }
    }
}

int main(int arguments, char **argument)
{
    if (arguments < 3)
        return 2;
    long pairs = atol(argument[2]);
    int allocate = arguments == 3;
    if (strcmp(argument[1], "mixed") == 0)
        mixed(pairs, allocate);
    else
        fixed(pairs, (size_t)atol(argument[1]), allocate);
    return 0;
}
