/* One byte is written behind what was asked for of a block that has a mapping of its own, which is then resized. */
#include "misuse.h"

int main(void)
{
    char *block = get(HUGE + 100);
    name(block);
    ((char *)hidden(block))[HUGE + 100] = 0;
    block = hidden(realloc(block, 2 * HUGE));
}
