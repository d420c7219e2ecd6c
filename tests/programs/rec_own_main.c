/* Linked to rec_own_malloc.c as a shared library. */
#include <stdlib.h>

extern int own_mallocs;

int main(void)
{
    int before = own_mallocs;
    free(malloc(6901));
    free(calloc(2, 3451));
    free(realloc(malloc(6903), 6904));
    void *block = realloc(malloc(6905), 0);
    free(block);
    return own_mallocs == before + 6 ? 0 : 1;
}
