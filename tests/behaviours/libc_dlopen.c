/* dlopen, dlsym, dlerror and dlclose allocate inside the dynamic loader. */
#include "behaviour.h"

#include <dlfcn.h>

int main(void)
{
    for (int i = 0; i < 20; i++) {
        void *library = dlopen("libm.so.6", RTLD_NOW | RTLD_LOCAL);
        expect(library != NULL, "dlopen: %s", dlerror());
        double (*square_root)(double) = (double (*)(double))dlsym(library, "sqrt");
        expect(square_root != NULL && square_root(49) == 7, "sqrt is not to be had");
        expect(dlsym(library, "no_such_symbol") == NULL && dlerror() != NULL, "a symbol was found that is not there");
        expect(dlopen("no-such-library.so", RTLD_NOW) == NULL && dlerror() != NULL,
            "a library was found that is not there");
        dlclose(library);
    }
    return 0;
}
