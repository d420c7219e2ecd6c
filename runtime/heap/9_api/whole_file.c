/* Files that appear whole or not at all: under a temporary name first, then renamed. Devices are written where they are. */
#define _GNU_SOURCE
#include "9_api/whole_file.h"

#include "1_base/text.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
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
    return true;
}

static COLD bool is_descriptor(const struct stat *is, int descriptor)
{
    struct stat of;
    return fstat(descriptor, &of) == 0 && of.st_dev == is->st_dev && of.st_ino == is->st_ino;
}

/* Where the file is that a symbolic link leads to, by what the kernel says of a descriptor of it. */
static COLD void follow(struct whole_file *names, int descriptor)
{
    struct text link = text_to(-1, names->temporary, sizeof names->temporary - 1);
    text_string(&link, "/proc/self/fd/");
    text_number(&link, (uint64_t)descriptor);
    names->temporary[link.used] = '\0';
    char target[PATH_MAX];
    ssize_t length = readlink(names->temporary, target, sizeof target);
    if (length <= 0 || length == sizeof target)
        return;
    memcpy(names->path, target, (size_t)length);
    names->path[length] = '\0';
}

/* A file in the place of a device, of a pipe, or of this process's output would take that from all who use it. A symbolic link
 * stays one: the file behind it is replaced, and with none there nothing is. */
static COLD bool find_place(struct whole_file *names, bool *in_place)
{
    struct stat is;
    char first;
    *in_place = false;
    const bool is_link = readlink(names->path, &first, 1) > 0;
    int found = open(names->path, O_PATH | O_CLOEXEC);
    if (found < 0)
        return !is_link;
    *in_place = fstat(found, &is) != 0 || !S_ISREG(is.st_mode) || is_descriptor(&is, STDOUT_FILENO) ||
                is_descriptor(&is, STDERR_FILENO);
    if (is_link && !*in_place)
        follow(names, found);
    close(found);
    return true;
}

/* Without waiting for a reader of a pipe that has none. */
static COLD bool write_in_place(const char *path, bool (*content)(int fd))
{
    int fd = open(path, O_WRONLY | O_APPEND | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
    if (fd < 0)
        return false;
    fcntl(fd, F_SETFL, O_APPEND);
    bool written = content(fd);
    int failed = errno;
    close(fd);
    errno = failed;
    return written;
}

bool write_whole_file(struct whole_file *names, const char *file, bool (*content)(int fd))
{
    bool in_place;
    if (!expand_names(names, file) || !find_place(names, &in_place))
        return false;
    if (in_place)
        return write_in_place(names->path, content);
    size_t length = strlen(names->path);
    memcpy(names->temporary, names->path, length);
    memcpy(names->temporary + length, ".tmp~", sizeof ".tmp~");
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
