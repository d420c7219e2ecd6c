/* Files that appear whole or not at all, written without stdio and without malloc. Async-signal-safe. */
#pragma once

#include "1_base/cold.h"

#include <limits.h>
#include <stdbool.h>

/* The name of a file and the one under which it is written. */
struct whole_file {
    char path[PATH_MAX + 64], temporary[PATH_MAX + 80];
};

/* Note which files standard output and error are, once: later other files may lie under their descriptors. */
COLD void note_standard(void);

/* Whether a descriptor is of the file that was noted of STDOUT_FILENO or STDERR_FILENO. */
COLD bool is_standard(int descriptor, int which);

/* %p in the name is the process. Of a symbolic link the file that it leads to is written. A device, a pipe, and the files that
 * were noted are not replaced: they take the content as it is. False, with errno: the name is too long, or the system refuses;
 * then nothing is left. */
COLD bool write_whole_file(struct whole_file *names, const char *file, bool (*content)(int fd));
