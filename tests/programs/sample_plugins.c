/* Opens each library of its arguments, has it allocate (rec_plugin.c), and closes it, in one function, whose return address in main
 * it prints, and how many libraries had their function at the first one's address. Then it waits for the end of its input. */
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>

static uintptr_t first;
static int same;

__attribute__((noinline, noclone)) static uintptr_t in_plugin(const char *path, size_t bytes)
{
    void *library = dlopen(path, RTLD_NOW);
    void (*allocate)(size_t) = (void (*)(size_t))dlsym(library, "allocate");
    if (first == 0)
        first = (uintptr_t)allocate;
    same += (uintptr_t)allocate == first;
    allocate(bytes);
    dlclose(library);
    return (uintptr_t)__builtin_return_address(0);
}

int main(int count, char **arguments)
{
    uintptr_t place = 0;
    for (int at = 1; at < count; at++)
        place = in_plugin(arguments[at], 100 + (size_t)at);
    printf("%lu %d\n", (unsigned long)place, same);
    fflush(stdout);
    while (getchar() != EOF)
        ;
    return 0;
}
