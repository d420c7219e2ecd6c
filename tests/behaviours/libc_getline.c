/* getline and getdelim grow a block of the program's, or make one, with realloc. */
#include "behaviour.h"

int main(void)
{
    static char lines[50000];
    memset(lines, 'y', sizeof lines);
    for (size_t i = 10; i < sizeof lines; i = i * 2 + 3)
        lines[i] = '\n';
    FILE *file = fmemopen(lines, sizeof lines, "r");
    size_t room = 4, total = 0;
    char *line = malloc(room);
    for (ssize_t length; (length = getline(&line, &room, file)) > 0; total += (size_t)length)
        expect(room > (size_t)length && malloc_usable_size(line) >= room, "getline's block of %zu bytes has %zu",
            room, malloc_usable_size(line));
    expect(total == sizeof lines, "getline read %zu bytes", total);
    rewind(file);
    free(line);
    line = NULL;
    room = 0;
    ssize_t length = getdelim(&line, &room, 0, file);
    expect(length == (ssize_t)sizeof lines && memcmp(line, lines, sizeof lines) == 0, "getdelim read %zd bytes",
        length);
    free(line);
    fclose(file);
    return 0;
}
