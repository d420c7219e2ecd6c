/* mallinfo2, mallopt, malloc_info and malloc_trim leave errno alone. */
#include "behaviour.h"

int main(void)
{
    FILE *sink = fopen("/dev/null", "w");
    free(malloc(100000));
    fputs("first", sink);
    errno = UNTOUCHED;
    mallinfo2();
    expect_untouched("mallinfo2");
    mallopt(M_TOP_PAD, 65536);
    expect_untouched("mallopt");
    malloc_info(0, sink);
    expect_untouched("malloc_info");
    malloc_trim(0);
    expect_untouched("malloc_trim");
    return 0;
}
