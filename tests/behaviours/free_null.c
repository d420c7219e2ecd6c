/* free(NULL) does nothing. */
#include "behaviour.h"

int main(void)
{
    errno = UNTOUCHED;
    for (int i = 0; i < 1000; i++)
        free(NULL);
    expect_untouched("free(NULL)");
    void *first = malloc(10), *second = malloc(10);
    expect(first != NULL && first != second, "malloc(10) returned %p, then %p", first, second);
    return 0;
}
