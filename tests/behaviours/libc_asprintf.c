/* asprintf allocates blocks for free. */
#include "behaviour.h"

int main(void)
{
    for (int width = 1; width < 200000; width = width * 3 + 1) {
        char *text = NULL;
        int length = asprintf(&text, "%*d", width, 7);
        expect(length == width && text[width - 1] == '7', "asprintf of %d characters gave %d", width, length);
        expect(malloc_usable_size(text) > (size_t)width, "asprintf's block has %zu usable bytes",
            malloc_usable_size(text));
        free(text);
    }
    return 0;
}
