/* vfork with exec, posix_spawn, system and popen start programs; the heap is as it was after each. */
#include "behaviour.h"

#include <spawn.h>

int main(int count, char **arguments)
{
    if (count > 1) {
        free(filled_block(1000, 1));
        return 0;
    }
    void *block = filled_block(3000, 2);
    char again[] = "again", *const next[] = {arguments[0], again, NULL};
    for (int i = 0; i < 3; i++) {
        pid_t child = vfork();
        if (child == 0) {
            execv("/proc/self/exe", next);
            _exit(9);
        }
        expect_success(child, "the program after vfork");
        expect(posix_spawn(&child, "/proc/self/exe", NULL, NULL, next, environ) == 0, "posix_spawn failed");
        expect_success(child, "the program of posix_spawn");
        free(malloc(40000));
    }
    expect(system("exit 3") == 3 << 8, "system did not return status 3");
    FILE *pipe = popen("echo spawned", "r");
    char text[20] = "";
    expect(fgets(text, sizeof text, pipe) != NULL && strcmp(text, "spawned\n") == 0, "popen gave '%s'", text);
    expect(pclose(pipe) == 0, "pclose failed");
    expect_filled(block, 3000, 2);
    free(block);
    return 0;
}
