/* A C program: asks a C++ plug-in whether operator new throws; without one, what operator new does where nobody can throw. */
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>

int main(int count, char **arguments)
{
    if (count < 2) {
        void *(*allocate)(size_t) = (void *(*)(size_t))dlsym(RTLD_DEFAULT, "_Znwm");
        allocate(100);
        allocate(PTRDIFF_MAX);
        return 1;
    }
    void *plugin = dlopen(arguments[1], RTLD_NOW | RTLD_LOCAL);
    int (*throws)(void) = (int (*)(void))dlsym(plugin, "throws");
    printf("%d\n", throws());
    return 0;
}
