/* open_memstream grows its buffer with realloc and leaves it to the program. */
#include "behaviour.h"

int main(void)
{
    char *text = NULL;
    size_t bytes = 0;
    FILE *file = open_memstream(&text, &bytes);
    for (int i = 0; i < 30000; i++)
        fprintf(file, "%d,", i);
    expect(fclose(file) == 0 && strlen(text) == bytes, "the stream holds %zu bytes", bytes);
    expect(strncmp(text, "0,1,2,3,", 8) == 0 && strcmp(text + bytes - 6, "29999,") == 0, "the stream's text differs");
    text = realloc(text, bytes + 100000);
    expect(text != NULL && strncmp(text, "0,1,2,3,", 8) == 0, "the text differs after realloc");
    free(text);
    return 0;
}
