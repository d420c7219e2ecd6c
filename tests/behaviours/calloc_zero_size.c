/* calloc(n, 0) is as malloc(0), whatever n is. */
#include "behaviour.h"

int main(void)
{
    void *first = calloc(8, 0), *second = calloc(SIZE_MAX, 0);
    expect(first != NULL && second != NULL, "calloc(n, 0) returned NULL");
    expect(first != second, "calloc(n, 0) returned %p twice", first);
    free(first);
    free(second);
    return 0;
}
