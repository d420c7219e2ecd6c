/* reallocarray(p, 0, n) and (p, n, 0) are realloc(p, 0): NULL as glibc does; of NULL they are malloc(0). */
#include "behaviour.h"

int main(void)
{
    expect(reallocarray(malloc(10), 0, 8) == NULL, "reallocarray(p, 0, 8) is not NULL");
    expect(reallocarray(malloc(10), SIZE_MAX, 0) == NULL, "reallocarray(p, SIZE_MAX, 0) is not NULL");
    void *first = reallocarray(NULL, 0, 8), *second = reallocarray(NULL, 8, 0);
    expect(first != NULL && second != NULL && first != second, "reallocarray(NULL, 0, n) returned %p, then %p", first,
        second);
    return 0;
}
