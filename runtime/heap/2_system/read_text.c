/* A small file of the system, as a text. */
#define _GNU_SOURCE
#include "2_system/read_text.h"

#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Directly: the C library's functions are points of thread cancellation, and malloc(3) asks here. */
void os_read_text(const char *path, char *text, size_t room)
{
    int file = (int)syscall(SYS_openat, AT_FDCWD, path, O_RDONLY | O_CLOEXEC);
    size_t used = 0;
    for (long got = 1; file >= 0 && got > 0 && used < room - 1; used += got > 0 ? (size_t)got : 0)
        got = syscall(SYS_read, file, text + used, room - 1 - used);
    text[used] = '\0';
    if (file >= 0)
        syscall(SYS_close, file);
}
