/* A child of a child of a child allocates. */
#include "behaviour.h"

int main(void)
{
    void *block = filled_block(1000, 0);
    for (size_t generation = 1; generation <= 5; generation++) {
        pid_t child = fork();
        if (child != 0) {
            expect_success(child, "a child");
            break;
        }
        expect_filled(block, 1000, generation - 1);
        free(block);
        block = filled_block(1000, generation);
        free(filled_block(100000, generation));
    }
    return 0;
}
