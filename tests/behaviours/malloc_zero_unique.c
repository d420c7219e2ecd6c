/* malloc(0) returns a pointer that is not NULL and differs from every other live one (glibc's choice of C17 7.22.3). */
#include "behaviour.h"

int main(void)
{
    static void *blocks[300];
    for (size_t i = 0; i < COUNT_OF(blocks); i++) {
        blocks[i] = malloc(0);
        expect(blocks[i] != NULL, "malloc(0) returned NULL");
        for (size_t k = 0; k < i; k++)
            expect(blocks[i] != blocks[k], "malloc(0) returned %p twice", blocks[i]);
    }
    return 0;
}
