/* setenv and unsetenv allocate for the environment, which stays right as it grows. */
#include "behaviour.h"

int main(void)
{
    char name[32], value[3000];
    for (int i = 0; i < 500; i++) {
        snprintf(name, sizeof name, "BEHAVIOUR_%d", i);
        memset(value, 'a' + i % 26, (size_t)i * 5);
        value[i * 5] = 0;
        expect(setenv(name, value, 1) == 0, "setenv failed");
    }
    for (int i = 0; i < 500; i++) {
        snprintf(name, sizeof name, "BEHAVIOUR_%d", i);
        const char *found = getenv(name);
        expect(found != NULL && strlen(found) == (size_t)i * 5, "%s has changed", name);
        expect(unsetenv(name) == 0 && getenv(name) == NULL, "%s is still set", name);
    }
    return 0;
}
