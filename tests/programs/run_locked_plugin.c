/* Opens and closes the plugin of its first argument, whose constructor waits for a thread. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>

int main(int count, char **arguments)
{
    void *plugin = count > 1 ? dlopen(arguments[1], RTLD_NOW) : NULL;
    if (plugin == NULL || dlclose(plugin) != 0)
        return 1;
    return puts("done") < 0;
}
