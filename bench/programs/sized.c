/* sized PAIRS BYTES: pairs of malloc and RELEASE, the function of this name, which takes block and size. */
#include <stdlib.h>

void RELEASE(void *block, size_t bytes);

int main(int count, char **value)
{
    if (count != 3)
        return EXIT_FAILURE;
    size_t bytes = (size_t)atol(value[2]);
    for (long pair = atol(value[1]); pair > 0; pair--)
        RELEASE(malloc(bytes), bytes);
    return EXIT_SUCCESS;
}
