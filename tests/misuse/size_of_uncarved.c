/* malloc_usable_size of where a later block of the slab will begin, which was not handed out yet. */
#include "misuse.h"

#include <malloc.h>

enum { FURTHER = 100 };

int main(void)
{
    char *one = get(SMALL), *other = get(SMALL);
    char *low = one < other ? one : other, *high = one < other ? other : one;
    char *later = high + FURTHER * (high - low);
    name(later);
    volatile size_t bytes = malloc_usable_size(hidden(later));
    (void)bytes;
}
