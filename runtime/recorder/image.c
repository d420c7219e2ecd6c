/* One process image's spool file. It is made and grown by path, and no descriptor outlives a call: programs close all
 * they have. System calls are made directly: the C library's open and pwrite are points of thread cancellation. */
#define _GNU_SOURCE
#include "image.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stddef.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "1_base/spool/windows.h"
#include "digits.h"
#include "sites.h"

enum { PAGE_BYTES = 4096, NAME_BYTES = 64 };

static const char variable[] = "#HEAPSMITH_RECORD="; /* without the # in the environment */

/* Until an image begins; never holds a window. */
static struct image no_image;
struct image *image = &no_image;

static uint32_t images_begun; /* by this memory and all it descends from: unlike *image, a child inherits it */
static char path[PATH_MAX + NAME_BYTES]; /* of this image's spool file */
static size_t directory_length;
static struct stat created;   /* that file */
static uint32_t owner;        /* the process that made it */
static struct spool_header *header; /* of this image's spool file, mapped; NULL before the first image */

/* Feed one byte to the search for `name` at the start of an entry, which `end` ends. `matched` counts the bytes matched so
 * far, or is SIZE_MAX until the next entry. The value goes to `path`. True at the value's end. */
static bool match_byte(char byte, size_t *matched, const char *name, char end)
{
    if (*matched != SIZE_MAX && name[*matched] == '\0') {
        path[directory_length] = byte == end ? '\0' : byte;
        return byte == end || ++directory_length == PATH_MAX;
    }
    if (byte == end)
        *matched = 0;
    else if (*matched != SIZE_MAX)
        *matched = byte == name[*matched] ? *matched + 1 : SIZE_MAX;
    return false;
}

/* Put the value of an entry of a file into `path`. */
static bool find_in(const char *file_name, const char *name, char end)
{
    static char block[PAGE_BYTES];
    size_t matched = 0;
    bool found = false;
    int file = hs_spool_open(file_name, O_RDONLY);
    if (file < 0)
        return false;
    directory_length = 0;
    for (long got; !found && (got = syscall(SYS_read, file, block, sizeof block)) > 0;)
        for (long i = 0; i < got && !found; i++)
            found = match_byte(block[i], &matched, name, end);
    syscall(SYS_close, file);
    return found && directory_length > 0 && directory_length < PATH_MAX;
}

/* Put the spool directory into `path`: from /proc, because the first allocation can come before the C library knows its
 * environment, and programs rewrite that. Of a program that lost the variable, a comment in the file that preloaded the
 * recorder tells it. False if there is none. */
static bool find_directory(void)
{
    return find_in("/proc/self/environ", variable + 1, '\0') || find_in("/etc/ld.so.preload", variable, '\n');
}

/* Map the page that the kernel clears in children. */
static bool map_image_page(void)
{
    void *page = mmap(NULL, PAGE_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (page == MAP_FAILED)
        return false;
    if (madvise(page, PAGE_BYTES, MADV_WIPEONFORK) != 0) {
        munmap(page, PAGE_BYTES);
        return false;
    }
    image = page;
    return true;
}

/* Create `<directory>/<pid>.<sequence>.spool` with the first sequence number not taken; -1 if that fails. */
static int create_spool(uint32_t pid, uint32_t *sequence)
{
    for (*sequence = 0; *sequence < UINT16_MAX; ++*sequence) {
        path[directory_length] = '/';
        char *dot = write_number(path + directory_length + 1, pid);
        *dot = '.';
        strcpy(write_number(dot + 1, *sequence), ".spool");
        int file = hs_spool_open(path, O_RDWR | O_CREAT | O_EXCL);
        if (file >= 0 || errno != EEXIST)
            return file;
    }
    return -1;
}

static void fill_header(struct spool_header *to, uint32_t pid, uint32_t sequence, bool forked)
{
    int arguments = hs_spool_open("/proc/self/cmdline", O_RDONLY);
    long length = syscall(SYS_read, arguments, to->argv, SPOOL_ARGV_BYTES); /* the kernel fills it in one call */
    syscall(SYS_close, arguments);
    to->argv_length = length > 0 ? (uint32_t)length : 0;
    to->version = SPOOL_VERSION;
    to->pid = pid;
    to->parent_pid = (uint32_t)syscall(SYS_getppid);
    to->sequence = sequence;
    to->forked = forked;
    to->start_stamp = stamp_now();
    __atomic_store_n(&to->magic, spool_magic, __ATOMIC_RELEASE);
}

bool image_begin(void)
{
    static bool unwanted;
    bool forked = image != &no_image;
    uint32_t pid = (uint32_t)syscall(SYS_getpid), sequence;
    if (unwanted || (!forked && (!find_directory() || !map_image_page()))) {
        unwanted = true;
        return false;
    }
    if (header != NULL) /* the parent's, in a child */
        munmap(header, SPOOL_HEADER_BYTES);
    header = NULL;
    int file = create_spool(pid, &sequence);
    owner = pid;
    if (file >= 0) {
        fstat(file, &created);
        header = hs_spool_map(file, SPOOL_HEADER_BYTES, 0);
        syscall(SYS_close, file);
    }
    unwanted = header == NULL;
    if (unwanted)
        return false;
    fill_header(header, pid, sequence, forked);
    sites_reset();
    image->units = 1;
    __atomic_store_n(&image->number, ++images_begun, __ATOMIC_RELEASE);
    return true;
}

/* The number and the process tell the image from a parent's: a child that has no event yet, or that vfork made. The folder
 * may be another user's: what the path names by now must be the file that was made. */
int image_hand_over(uint32_t user)
{
    struct stat found;
    if (image->number == 0 || owner != (uint32_t)syscall(SYS_getpid) || syscall(SYS_geteuid) != 0)
        return -1;
    int file = hs_spool_open(path, O_RDWR | O_NOFOLLOW);
    if (file < 0)
        return -1;
    bool is_ours = fstat(file, &found) == 0 && found.st_dev == created.st_dev && found.st_ino == created.st_ino;
    if (is_ours && syscall(SYS_fchown, file, user, -1) == 0)
        return file;
    syscall(SYS_close, file);
    return -1;
}

static uint32_t claim_unit(void)
{
    return __atomic_fetch_add(&image->units, 1, __ATOMIC_RELAXED);
}

struct window *window_open(uint32_t stream)
{
    return hs_window_open(path, claim_unit(), stream);
}

bool window_copy(struct window *window)
{
    return hs_window_copy(path, claim_unit(), window);
}

void count_drop(void)
{
    if (header != NULL)
        __atomic_fetch_add(&header->drops, 1, __ATOMIC_RELAXED);
}

void count_nested(void)
{
    if (header != NULL)
        __atomic_fetch_add(&header->nested, 1, __ATOMIC_RELAXED);
}

void count_check(bool is_right)
{
    __atomic_fetch_add(&header->checked, 1, __ATOMIC_RELAXED);
    __atomic_fetch_add(&header->wrong, !is_right, __ATOMIC_RELAXED);
}

void count_spool_time(uint64_t ticks)
{
    __atomic_fetch_add(&header->spool_ticks, ticks, __ATOMIC_RELAXED);
}
