/* Files that appear whole or not at all: under a temporary name first, then renamed. */
#define _GNU_SOURCE
#include "9_api/whole_file.h"

#include "1_base/text.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static COLD bool expand_names(struct whole_file *names, const char *file)
{
    struct text name = text_to(-1, names->path, sizeof names->path - 1); /* beyond its room nothing is written, and fails */
    for (const char *from = file; *from != '\0'; from++) {
        if (from[0] == '%' && from[1] == 'p') {
            text_number(&name, (uint64_t)getpid());
            from++;
        } else {
            text_bytes(&name, from, 1);
        }
    }
    if (name.failed) {
        errno = ENAMETOOLONG;
        return false;
    }
    names->path[name.used] = '\0';
    memcpy(names->temporary, names->path, name.used);
    memcpy(names->temporary + name.used, ".tmp~", sizeof ".tmp~");
    return true;
}

bool write_whole_file(struct whole_file *names, const char *file, bool (*content)(int fd))
{
    if (!expand_names(names, file))
        return false;
    int fd = open(names->temporary, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    if (fd < 0)
        return false;
    bool written = content(fd);
    int failed = errno;
    close(fd);
    if (written && rename(names->temporary, names->path) == 0)
        return true;
    if (written)
        failed = errno;
    unlink(names->temporary);
    errno = failed;
    return false;
}
