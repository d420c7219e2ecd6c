/* Files that appear whole or not at all, written without stdio and without malloc. Async-signal-safe. */
#pragma once

#include "1_base/cold.h"

#include <limits.h>
#include <stdbool.h>

/* The name of a file and the one under which it is written. */
struct whole_file {
    char path[PATH_MAX + 64], temporary[PATH_MAX + 80];
};

/* %p in the name is the process. What is no regular file, or is standard output or error, is written to as it is. False, with
 * errno: the name is too long, or the system refuses; then nothing is left. */
COLD bool write_whole_file(struct whole_file *names, const char *file, bool (*content)(int fd));
