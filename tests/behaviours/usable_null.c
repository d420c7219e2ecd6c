/* malloc_usable_size(NULL) is 0 (malloc_usable_size(3)). */
#include "behaviour.h"

int main(void)
{
    size_t usable = malloc_usable_size(NULL);
    expect(usable == 0, "malloc_usable_size(NULL) is %zu", usable);
    return 0;
}
