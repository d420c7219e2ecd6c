/* Facts that no trace shows: C17 7.22.3, C23 7.24.3, POSIX.1-2024 malloc() and free(), and glibc's manual for the rest. */
#include "driver.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

enum { PAGE = 4096, BYTES = 100 };

static void hold(bool holds, const char *fact)
{
    steps++;
    if (!holds)
        fail("not so: %s", fact);
}

static bool aligned(const void *block, size_t alignment)
{
    return block != NULL && (uintptr_t)block % alignment == 0;
}

static void nothing_from_nothing(void)
{
    errno = 0;
    library.free(NULL);
    library.cfree(NULL);
    library.free_sized(NULL, 0);
    hold(errno == 0, "free(NULL) does nothing");
    hold(library.malloc_usable_size(NULL) == 0, "malloc_usable_size(NULL) is 0");
    hold(library.locate(NULL) == -1, "NULL is no block");
    void *one = library.malloc(0);
    void *two = library.malloc(0);
    hold(one != NULL && two != NULL && one != two, "malloc(0) gives blocks of their own");
    library.free(one);
    library.free(two);
}

/* The block that was asked for last; the next one is asked for with errno 0. */
static void is_refused(const void *block, int error, const char *fact)
{
    hold(block == NULL && errno == error, fact);
    errno = 0;
}

static void too_much(void)
{
    static const char fact[] = "what cannot be had is NULL with ENOMEM";
    size_t most = SIZE_MAX - PAGE; /* a page below the end: what rounds up must not wrap */
    errno = 0;
    is_refused(library.malloc(most), ENOMEM, fact);
    is_refused(library.calloc(SIZE_MAX / 2, 3), ENOMEM, fact);
    is_refused(library.reallocarray(NULL, SIZE_MAX / 2, 3), ENOMEM, fact);
    is_refused(library.aligned_alloc(64, most), ENOMEM, fact);
    is_refused(library.pvalloc(SIZE_MAX - 1), ENOMEM, fact);
    is_refused(library.valloc(most), ENOMEM, fact);
    is_refused(library.calloc(1, SIZE_MAX / 2 + 2), ENOMEM, fact);
    is_refused(library.realloc(NULL, SIZE_MAX / 2 + 2), ENOMEM, fact);
    is_refused(library.malloc(SIZE_MAX / 4), ENOMEM, fact); /* legal, but there is no such address space */
}

static void grown_too_much(size_t bytes)
{
    unsigned char *block = library.malloc(bytes);
    hold(block != NULL, "a block can be had");
    memset(block, 7, bytes);
    errno = 0;
    is_refused(library.realloc(block, SIZE_MAX / 2 + 2), ENOMEM, "realloc beyond PTRDIFF_MAX fails with ENOMEM");
    is_refused(library.realloc(block, SIZE_MAX / 4), ENOMEM, "realloc beyond the address space fails with ENOMEM");
    is_refused(library.reallocarray(block, SIZE_MAX / 2, 3), ENOMEM, "reallocarray sees the overflow");
    hold(block[0] == 7 && block[bytes - 1] == 7, "a failed realloc leaves the block as it was");
    library.free(block);
}

static void alignments(void)
{
    for (size_t alignment = sizeof(void *); alignment <= 64 * PAGE; alignment *= 2) {
        void *block = NULL;
        errno = 77;
        hold(library.posix_memalign(&block, alignment, BYTES) == 0 && errno == 77, "posix_memalign leaves errno alone");
        hold(aligned(block, alignment), "posix_memalign aligns");
        hold(library.malloc_usable_size(block) >= BYTES, "posix_memalign gives what was asked");
        library.free_aligned_sized(block, alignment, BYTES);
        block = library.memalign(alignment - 1, BYTES);
        hold(aligned(block, alignment), "memalign rounds the alignment up");
        library.cfree(block);
    }
    void *untouched = &untouched;
    hold(library.posix_memalign(&untouched, 24, BYTES) == EINVAL, "posix_memalign: 24 is no alignment");
    hold(library.posix_memalign(&untouched, 4, BYTES) == EINVAL, "posix_memalign: 4 is below a pointer's size");
    hold(library.posix_memalign(&untouched, 0, BYTES) == EINVAL, "posix_memalign: 0 is no alignment");
    errno = 77;
    hold(library.posix_memalign(&untouched, 64, SIZE_MAX - PAGE) == ENOMEM && errno == 77, "posix_memalign returns ENOMEM");
    hold(untouched == &untouched, "a failed posix_memalign leaves the pointer alone");
    errno = 0;
    is_refused(library.aligned_alloc(24, BYTES), EINVAL, "aligned_alloc: 24 is no alignment");
    is_refused(library.aligned_alloc(0, BYTES), EINVAL, "aligned_alloc: 0 is no alignment");
    is_refused(library.memalign(SIZE_MAX / 2 + 2, BYTES), EINVAL, "memalign: there is no such power of two");
}

static void whole_pages(void)
{
    void *one = library.valloc(BYTES);
    void *two = library.pvalloc(PAGE + 1);
    void *three = library.pvalloc(2 * PAGE);
    hold(aligned(one, PAGE) && aligned(two, PAGE) && aligned(three, PAGE), "valloc and pvalloc give whole pages");
    hold(library.malloc_usable_size(two) >= 2 * PAGE, "pvalloc rounds up to pages");
    library.free(one);
    library.free(two);
    library.free(three);
}

static void errno_survives(void)
{
    static const size_t bytes[] = { BYTES, 100000, 64u << 20 };
    for (size_t index = 0; index < sizeof bytes / sizeof bytes[0]; index++) {
        errno = 77;
        void *block = library.malloc(bytes[index]);
        block = library.realloc(block, bytes[index] + bytes[index] / 2);
        hold(block != NULL && errno == 77, "success leaves errno alone");
        library.free(block);
        hold(errno == 77, "free leaves errno alone");
    }
}

/* A block of another allocator: the system's lived before ours under LD_PRELOAD. */
static void strangers(void)
{
    char *block = malloc(BYTES); /* the driver's own malloc is another one */
    hold(library.locate(block) == -1, "a stranger's block is not ours");
    if (no_strangers)
        return;
    size_t usable = library.malloc_usable_size(block);
    hold(usable == 0 || usable >= BYTES, "a stranger's block has the size that its allocator says, or none");
    errno = 0;
    char *resized = library.realloc(block, 2 * BYTES);
    hold(resized != NULL ? usable > 0 : errno == ENOMEM, "a stranger's block is resized by its allocator, or not at all");
    library.free(resized != NULL ? resized : block);
}

void facts(void)
{
    nothing_from_nothing();
    too_much();
    grown_too_much(BYTES);
    grown_too_much(100000);
    grown_too_much(64u << 20);
    alignments();
    whole_pages();
    errno_survives();
    strangers();
}
