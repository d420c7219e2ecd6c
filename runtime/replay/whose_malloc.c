/* Preloaded to a command that has its own malloc: each process image of the command adds to the file that
 * HEAPSMITH_WHOSE_MALLOC names three strings, each ended by a null byte: the path of the object that malloc comes from
 * (empty: from the executable), the same for operator new ("-": there is none), and the executable's path. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <limits.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "../heap/1_base/definitions.h"

static const char *object_of(const char *symbol)
{
    const struct link_map *object = definition_first(symbol).object;
    return object != NULL ? object->l_name : "-";
}

/* One write(2), so that the strings of processes that run at once do not mix. */
__attribute__((constructor)) static void tell(void)
{
    char program[PATH_MAX] = "", line[3 * PATH_MAX];
    const char *path = getenv("HEAPSMITH_WHOSE_MALLOC");
    int file = path != NULL ? open(path, O_WRONLY | O_APPEND | O_CLOEXEC) : -1;
    if (file < 0 || readlink("/proc/self/exe", program, sizeof program - 1) < 0)
        return;
    int length = snprintf(line, sizeof line, "%s%c%s%c%s%c", object_of("malloc"), 0, object_of("_Znwm"), 0, program, 0);
    if (write(file, line, (size_t)length) != length)
        dprintf(2, "heapsmith: %s: cannot be written\n", path);
    close(file);
}
