/* Streams and directories, opened and closed thousands of times, allocate and free inside the C library. */
#include "behaviour.h"

#include <dirent.h>

int main(void)
{
    for (int i = 0; i < 300; i++) {
        FILE *file = fopen("/proc/self/stat", "r");
        char text[64];
        expect(file != NULL && fgets(text, sizeof text, file) != NULL, "/proc/self/stat cannot be read");
        fclose(file);
        DIR *folder = opendir("/proc/self");
        expect(folder != NULL && readdir(folder) != NULL, "/proc/self cannot be read");
        closedir(folder);
    }
    struct dirent **names;
    int count = scandir("/proc/self", &names, NULL, alphasort);
    expect(count > 10, "/proc/self holds %d names", count);
    while (count-- > 0)
        free(names[count]);
    free(names);
    return 0;
}
