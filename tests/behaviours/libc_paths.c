/* realpath, getcwd and scanf's %ms allocate blocks for free. */
#include "behaviour.h"

int main(void)
{
    char *path = realpath("/proc/../proc", NULL), *here = getcwd(NULL, 0), *word = NULL;
    expect(path != NULL && strcmp(path, "/proc") == 0, "realpath gave %s", path);
    expect(here != NULL && here[0] == '/', "getcwd gave %s", here);
    expect(sscanf("allocated words", "%ms", &word) == 1 && strcmp(word, "allocated") == 0, "sscanf gave %s", word);
    free(path);
    free(here);
    free(word);
    return 0;
}
