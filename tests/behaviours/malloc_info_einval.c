/* malloc_info with options other than 0 returns EINVAL and writes nothing. */
#include "behaviour.h"

int main(void)
{
    const int options[] = {1, 2, -1, 1 << 30};
    char *text = NULL;
    size_t bytes = 0;
    FILE *file = open_memstream(&text, &bytes);
    for (size_t i = 0; i < COUNT_OF(options); i++) {
        int result = malloc_info(options[i], file);
        expect(result == EINVAL, "malloc_info(%d, file) returned %d", options[i], result);
    }
    fclose(file);
    expect(bytes == 0, "malloc_info with bad options wrote '%.40s'", text);
    free(text);
    return 0;
}
