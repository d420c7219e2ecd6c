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

enum { MOST_LINKS = 40 }; /* as the kernel has it (path_resolution(7)) */

/* What becomes of a file: another takes its place; or it is written to by a descriptor of the program or of our own; or neither,
 * with errno. */
enum file_place { REPLACED, SHARED, OPENED, REFUSED };

/* What descriptors 1 and 2 led to when it was noted; of mode 0: nothing that takes content. */
COLD_DATA static struct stat standard[2];
static bool noted;

void note_standard(void)
{
    for (int which = 0; which < 2 && !noted; which++)
        if (fstat(STDOUT_FILENO + which, &standard[which]) != 0 ||
            (fcntl(STDOUT_FILENO + which, F_GETFL) & O_ACCMODE) == O_RDONLY)
            standard[which].st_mode = 0;
    noted = true;
}

static COLD bool is_noted(const struct stat *is, int which)
{
    const struct stat *first = &standard[which - STDOUT_FILENO];
    return first->st_mode != 0 && is->st_dev == first->st_dev && is->st_ino == first->st_ino;
}

bool is_standard(int descriptor, int which)
{
    struct stat now;
    return fstat(descriptor, &now) == 0 && is_noted(&now, which);
}

/* What is a descriptor of a process has such a name, also behind /dev/stdout. */
static COLD bool is_of_process(const char *path)
{
    return strncmp(path, "/dev/fd/", 8) == 0 || (strncmp(path, "/proc/", 6) == 0 && strstr(path, "/fd/") != NULL);
}

/* In the place of a symbolic link, what it leads to, there or not. */
static COLD bool follow_links(struct whole_file *names)
{
    for (int links = 0; links < MOST_LINKS && !is_of_process(names->path); links++) {
        char *slash = strrchr(names->path, '/');
        ssize_t length = readlink(names->path, names->temporary, PATH_MAX);
        if (length < 0)
            return true;
        size_t kept = names->temporary[0] == '/' || slash == NULL ? 0 : (size_t)(slash + 1 - names->path);
        if (length == PATH_MAX || kept + (size_t)length >= sizeof names->path) {
            errno = ENAMETOOLONG;
            return false;
        }
        memcpy(names->path + kept, names->temporary, (size_t)length);
        names->path[kept + (size_t)length] = '\0';
    }
    errno = ELOOP;
    return is_of_process(names->path);
}

/* Such a name of descriptor 0, 1 or 2, under which a program may have opened a file of its own. */
static COLD bool is_of_low(const char *path)
{
    const char *number = strrchr(path, '/') + 1;
    return number[0] >= '0' && number[0] <= '2' && number[1] == '\0';
}

/* A pipe is not waited for: neither for a reader that it has not, nor long for one that does not read. */
static COLD enum file_place open_place(const char *path, int *fd)
{
    struct stat is;
    int found = open(path, O_PATH | O_CLOEXEC);
    if (found < 0)
        return is_of_process(path) ? REFUSED : REPLACED;
    bool known = fstat(found, &is) == 0;
    close(found);
    bool is_output = false;
    for (int which = STDOUT_FILENO; known && which <= STDERR_FILENO; which++) {
        *fd = which;
        if (is_noted(&is, which) && is_standard(which, which))
            return SHARED;
        is_output = is_output || is_noted(&is, which);
    }
    if (known && S_ISREG(is.st_mode) && !is_output) {
        if (!is_of_process(path))
            return REPLACED;
        errno = EBUSY;
        if (is_of_low(path))
            return REFUSED;
    }
    *fd = open(path, O_WRONLY | O_APPEND | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
    return *fd < 0 ? REFUSED : OPENED;
}

static COLD bool write_and_close(int fd, bool (*content)(int fd))
{
    bool written = content(fd);
    int failed = errno;
    close(fd);
    errno = failed;
    return written;
}

bool write_whole_file(struct whole_file *names, const char *file, bool (*content)(int fd))
{
    note_standard();
    if (!expand_names(names, file) || !follow_links(names))
        return false;
    int fd = -1;
    enum file_place place = open_place(names->path, &fd);
    if (place != REPLACED)
        return place == SHARED ? content(fd) : place == OPENED && write_and_close(fd, content);
    size_t length = strlen(names->path);
    memcpy(names->temporary, names->path, length);
    memcpy(names->temporary + length, ".tmp~", sizeof ".tmp~");
    fd = open(names->temporary, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    if (fd < 0)
        return false;
    bool written = write_and_close(fd, content);
    int failed = errno;
    if (written && rename(names->temporary, names->path) == 0)
        return true;
    if (written)
        failed = errno;
    unlink(names->temporary);
    errno = failed;
    return false;
}
