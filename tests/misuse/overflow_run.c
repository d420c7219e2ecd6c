/* One byte is written behind a large block's usable bytes. */
#include "misuse.h"

#include <malloc.h>

int main(void)
{
    char *block = get(RUN);
    void *behind = get(RUN);
    name(block);
    ((char *)hidden(block))[malloc_usable_size(block)] = 0;
    free(block);
    free(behind);
}
