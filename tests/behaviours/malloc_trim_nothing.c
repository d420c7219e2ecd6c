/* malloc_trim(0) returns 0 when there is nothing left to give back. */
#include "behaviour.h"

int main(void)
{
    int result = 1;
    for (int turn = 0; turn < 4 && result == 1; turn++)
        result = malloc_trim(0);
    expect(result == 0, "malloc_trim(0) still returned %d in the fourth turn of which nothing came between", result);
    return 0;
}
