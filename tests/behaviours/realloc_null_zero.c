/* realloc(NULL, 0) is malloc(0): not NULL, unique. */
#include "behaviour.h"

int main(void)
{
    void *first = realloc(NULL, 0), *second = realloc(NULL, 0);
    expect(first != NULL && second != NULL && first != second, "realloc(NULL, 0) returned %p, then %p", first, second);
    free(first);
    free(second);
    return 0;
}
