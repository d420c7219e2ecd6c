/* calloc(0, n) is as malloc(0), whatever n is. */
#include "behaviour.h"

int main(void)
{
    void *first = calloc(0, 8), *second = calloc(0, SIZE_MAX), *third = calloc(0, 0);
    expect(first != NULL && second != NULL && third != NULL, "calloc(0, n) returned NULL");
    expect(first != second && second != third && first != third, "calloc(0, n) returned %p twice", second);
    free(first);
    free(second);
    free(third);
    return 0;
}
