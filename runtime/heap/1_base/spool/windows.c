/* Windows of a spool file. System calls are made directly: the C library's open and pwrite are points of thread cancellation. */
#define _GNU_SOURCE
#include "1_base/spool/windows.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { WINDOW_BYTES = SPOOL_UNIT_BYTES + 4096 };

int hs_spool_open(const char *name, int flags)
{
    return (int)syscall(SYS_openat, AT_FDCWD, name, flags | O_CLOEXEC, 0600);
}

/* Write `bytes` at `offset`, or fail. A limit on file size is looked at first, or the kernel would send SIGXFSZ. */
static bool write_at(int file, const void *from, uint64_t bytes, uint64_t offset)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY && offset + bytes > limit.rlim_cur)
        return false;
    return syscall(SYS_pwrite64, file, from, bytes, offset) == (long)bytes;
}

static bool write_zeros(int file, uint64_t bytes, uint64_t offset)
{
    static const char zeros[4096];
    for (uint64_t at = 0; at < bytes; at += sizeof zeros)
        if (!write_at(file, zeros, sizeof zeros, offset + at))
            return false;
    return true;
}

void *hs_spool_map(int file, uint64_t bytes, uint64_t offset)
{
    if (!write_zeros(file, bytes, offset))
        return NULL;
    void *mapped = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, (off_t)offset);
    return mapped == MAP_FAILED ? NULL : mapped;
}

/* A unit of the file, and behind it memory of the process's own. */
static struct window *map_window(int file, uint64_t offset)
{
    if (!write_zeros(file, SPOOL_UNIT_BYTES, offset))
        return NULL;
    int access = PROT_READ | PROT_WRITE;
    struct window *window = mmap(NULL, WINDOW_BYTES, access, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (window == MAP_FAILED)
        return NULL;
    if (mmap(window, SPOOL_UNIT_BYTES, access, MAP_SHARED | MAP_FIXED, file, (off_t)offset) == MAP_FAILED) {
        munmap(window, WINDOW_BYTES);
        return NULL;
    }
    return window;
}

struct window *hs_window_open(const char *path, uint32_t unit, uint32_t stream)
{
    int file = hs_spool_open(path, O_RDWR);
    if (file < 0)
        return NULL;
    struct window *window = map_window(file, (uint64_t)unit * SPOOL_UNIT_BYTES);
    syscall(SYS_close, file);
    if (window == NULL)
        return NULL;
    window->stream = stream;
    window->home = unit;
    __atomic_store_n(&window->magic, window_magic, __ATOMIC_RELEASE);
    return window;
}

void hs_window_close(struct window *window)
{
    munmap(window, WINDOW_BYTES);
}

bool hs_window_copy(const char *path, uint32_t unit, struct window *window)
{
    int file = hs_spool_open(path, O_WRONLY);
    if (file < 0)
        return false;
    bool copied = write_at(file, window, sizeof *window, (uint64_t)unit * SPOOL_UNIT_BYTES);
    syscall(SYS_close, file);
    if (!copied)
        return false;
    memset(window->slots, 0, sizeof window->slots);
    __atomic_store_n(&window->ordinal, window->ordinal + 1, __ATOMIC_RELEASE); /* from here the window counts again */
    return true;
}

uint64_t *hs_window_cursor(struct window *window)
{
    uint64_t *slot = ended_of(window)->cursor;
    while (slot < window_end(window) && *slot != 0)
        slot += record_words(*slot);
    return slot;
}

bool hs_stream_start(struct writer *w, uint32_t image, bool (*open)(struct writer *w), bool (*turn)(struct writer *w))
{
    if (w->window != NULL)
        hs_window_close(w->window);
    *w = (struct writer){ .image = image, .busy = w->busy, .place = NOWHERE };
    if (!open(w))
        return false;
    if (w->cursor < w->limit || turn(w))
        return true;
    w->window = NULL; /* an ended thread's, full: it stays as it is */
    return false;
}

void hs_window_leave(struct window **ended, struct writer *w)
{
    struct window *window = w->window;
    *ended_of(window) = (struct ended){ w->cursor, *ended, (uint32_t)syscall(SYS_gettid) };
    *ended = window;
}

static bool is_gone(uint32_t thread)
{
    return syscall(SYS_tgkill, getpid(), thread, 0) != 0 && errno == ESRCH;
}

struct window *hs_window_take(struct window **ended)
{
    struct window **link = ended;
    while (*link != NULL && !is_gone(ended_of(*link)->thread))
        link = &ended_of(*link)->next;
    struct window *window = *link;
    if (window != NULL)
        *link = ended_of(window)->next;
    return window;
}
