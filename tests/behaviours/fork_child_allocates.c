/* The child of fork allocates, resizes and frees, its parent's blocks too; the parent's stay as they were. */
#include "behaviour.h"

int main(void)
{
    void *blocks[COUNT_OF(TIERS)];
    for (size_t i = 0; i < COUNT_OF(TIERS); i++)
        blocks[i] = filled_block(TIERS[i], i);
    pid_t child = fork();
    if (child == 0) {
        for (size_t i = 0; i < COUNT_OF(TIERS); i++) {
            expect_filled(blocks[i], TIERS[i], i);
            blocks[i] = realloc(blocks[i], TIERS[i] / 2 + 1);
            free(filled_block(TIERS[i], 1));
            memset(blocks[i], 0, TIERS[i] / 2 + 1);
            free(blocks[i]);
        }
        exit(0);
    }
    expect_success(child, "the child");
    for (size_t i = 0; i < COUNT_OF(TIERS); i++) {
        expect_filled(blocks[i], TIERS[i], i);
        free(blocks[i]);
    }
    return 0;
}
