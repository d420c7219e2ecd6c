/* What is freed is used again: thousands of turns of one block never need more than a few MiB. */
#include "behaviour.h"

int main(void)
{
    const size_t sizes[] = {100, 3000, 40000, 500000, 3 * MEBI};
    for (size_t i = 0; i < COUNT_OF(sizes); i++)
        for (int turn = 0; turn < 1500; turn++) {
            char *block = malloc(sizes[i]);
            expect(block != NULL, "malloc(%zu) failed: %s", sizes[i], strerror(errno));
            block[0] = block[sizes[i] / 2] = block[sizes[i] - 1] = 1;
            free(block);
        }
    expect(memory_of_process(1) < 32 * MEBI, "%zu bytes are resident", memory_of_process(1));
    return 0;
}
