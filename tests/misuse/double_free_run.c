/* A large block is freed twice. */
#include "misuse.h"

int main(void)
{
    void *block = get(RUN);
    name(block);
    free(block);
    free(hidden(block));
}
