/* One byte is written behind a block with a mapping of its own, of whole pages. */
#include "misuse.h"

int main(void)
{
    char *block = get(HUGE);
    name(block);
    ((volatile char *)hidden(block))[HUGE] = 'x';
    free(block);
}
