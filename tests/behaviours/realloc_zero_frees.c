/* realloc(p, 0) frees the block: thousands of them need no more memory than one. */
#include "behaviour.h"

int main(void)
{
    const size_t sizes[] = {100, 3000, 40000, 500000, 3 * MEBI};
    for (size_t i = 0; i < COUNT_OF(sizes); i++)
        for (size_t n = 0; n < 100 * MEBI / sizes[i]; n++) {
            char *block = malloc(sizes[i]);
            block[0] = 1;
            expect(realloc(block, 0) == NULL, "realloc(p, 0) did not return NULL");
        }
    expect(memory_of_process(1) < 32 * MEBI, "%zu bytes are resident", memory_of_process(1));
    return 0;
}
