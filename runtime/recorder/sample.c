/* Samples (sample.h). mincore(2) tells the resident pages of a block; /proc/self/statm those of the process (proc(5)). */
#define _GNU_SOURCE
#include "sample.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/auxv.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "digits.h"

enum {
    PAGE_BYTES = 4096,       /* what samples count, whatever the length of the system's pages */
    PART_PAGES = 1024,       /* that one call of mincore tells */
    ALL_BLOCKS = 1024,       /* large blocks of a thread that are all sampled */
    SOME_BLOCKS = 16,        /* of the blocks after those, each 16th is sampled */
    RESIDENT_TICKS = 1 << 22 /* from one sample of the resident pages to the next: one or two milliseconds */
};

uint8_t large_places[LARGE_PLACES];

static __thread uint32_t large_blocks;

static uint64_t system_page(void)
{
    return getauxval(AT_PAGESZ);
}

/* Of the system's pages. */
static uint64_t touched_pages(uintptr_t first, uint64_t pages)
{
    const uint64_t page_bytes = system_page();
    unsigned char told[PART_PAGES];
    uint64_t touched = 0;
    for (uint64_t at = 0; at < pages; at += PART_PAGES) {
        uint64_t part = pages - at < PART_PAGES ? pages - at : PART_PAGES;
        if (syscall(SYS_mincore, first + at * page_bytes, part * page_bytes, told) != 0)
            return touched; /* another malloc's: not mapped as a whole */
        for (uint64_t page = 0; page < part; page++)
            touched += told[page] & 1;
    }
    return touched;
}

static uint64_t resident_pages(void)
{
    char text[64];
    int file = (int)syscall(SYS_openat, AT_FDCWD, "/proc/self/statm", O_RDONLY | O_CLOEXEC);
    if (file < 0)
        return 0;
    long length = syscall(SYS_read, file, text, sizeof text - 1);
    syscall(SYS_close, file);
    text[length > 0 ? length : 0] = '\0';
    const char *at = text;
    read_number(&at, 10);
    return read_number(&at, 10) * (system_page() / PAGE_BYTES);
}

static void sample_resident(struct writer *w)
{
    uint64_t now = stamp_now();
    if (now - __atomic_load_n(&image->sampled, __ATOMIC_RELAXED) < RESIDENT_TICKS)
        return;
    __atomic_store_n(&image->sampled, now, __ATOMIC_RELAXED);
    uint64_t pages = resident_pages();
    if (pages > 0) /* 0: without /proc, or without a descriptor to read it */
        put_record(w, SPOOL_RESIDENT, now, pages);
}

void sample_large(struct writer *w, const void *block, size_t bytes)
{
    if (++large_blocks > ALL_BLOCKS && large_blocks % SOME_BLOCKS != 0)
        return;
    int saved_errno = errno;
    const uint64_t page_bytes = system_page(), each = page_bytes / PAGE_BYTES;
    uintptr_t first = ((uintptr_t)block + page_bytes - 1) & -(uintptr_t)page_bytes, end = (uintptr_t)block + bytes;
    uint64_t pages = end > first ? (end - first) / page_bytes : 0;
    put_record(w, SPOOL_TOUCHED, stamp_now(), pages * each << 32 | touched_pages(first, pages) * each);
    sample_resident(w);
    errno = saved_errno;
}

void sample_process(struct writer *w)
{
    int saved_errno = errno;
    struct timespec spent;
    if (clock_gettime(CLOCK_THREAD_CPUTIME_ID, &spent) == 0)
        put_record(w, SPOOL_PROCESSOR, stamp_now(), (uint64_t)spent.tv_sec * 1000000000 + (uint64_t)spent.tv_nsec);
    sample_resident(w);
    errno = saved_errno;
}
