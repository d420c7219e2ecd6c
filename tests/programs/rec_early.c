/* Allocation before main: in the first constructors there are, among them one of a function looked up by dlsym. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdlib.h>

static void *kept;

__attribute__((constructor(101))) static void first(void)
{
    kept = calloc(3, 2137);
    free(malloc(6401));
}

__attribute__((constructor(102))) static void second(void)
{
    void *(*look_up)(size_t) = (void *(*)(size_t))dlsym(RTLD_DEFAULT, "malloc");
    void (*no_such)(void) = (void (*)(void))dlsym(RTLD_DEFAULT, "no_such_function");
    if (look_up != NULL && no_such == NULL && dlerror() != NULL)
        free(look_up(6402));
}

int main(void)
{
    void *library = dlopen("libm.so.6", RTLD_NOW | RTLD_LOCAL);
    free(kept);
    free(malloc(6403));
    return library == NULL || dlclose(library) != 0;
}
