/* Strings that the C library allocates (strdup, strndup, wcsdup) are blocks for free and realloc. */
#include "behaviour.h"

#include <wchar.h>

int main(void)
{
    for (size_t length = 0; length < 3000; length += 1 + length / 10) {
        char text[3000];
        memset(text, 'x', length);
        text[length] = 0;
        char *copy = strdup(text), *part = strndup(text, length / 2);
        wchar_t *wide = wcsdup(L"a wide string");
        expect(strcmp(copy, text) == 0 && strlen(part) == length / 2 && wcslen(wide) == 13, "a copied string differs");
        copy = realloc(copy, 2 * length + 10);
        expect(strcmp(copy, text) == 0, "a copied string differs after realloc");
        free(copy);
        free(part);
        free(wide);
    }
    return 0;
}
