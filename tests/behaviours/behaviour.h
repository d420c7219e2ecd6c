/* What the programs of this folder share. Each checks one behaviour of the heap of the C library: exit status 0 and
   silence
   if it holds, else status 1 and one line on standard error that says what was found instead. */
#ifndef BEHAVIOUR_H
#define BEHAVIOUR_H

#include <errno.h>
#include <malloc.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#define MEBI ((size_t)1 << 20)
#define COUNT_OF(array) (sizeof(array) / sizeof((array)[0]))

/* An errno that no function sets. */
enum { UNTOUCHED = 4711 };

/* Sizes on all tiers that a heap may have, and on both sides of their usual bounds. */
static const size_t TIERS[] = {
    1, 16, 24, 100, 500, 1000, 1024, 1040, 2048, 2056, 4096, 4100, 8192, 8200, 16384, 30000, 32768, 32784, 65536, 65552,
    100000, 262144, 300000, 524288, 1048576, 1048592, 1500000,
};

/* No object can have these sizes (PTRDIFF_MAX and more), and the last of them wrap when anything is added. */
static const size_t TOO_LARGE[] = {
    PTRDIFF_MAX,     (size_t)PTRDIFF_MAX + 1, (size_t)PTRDIFF_MAX + 4097, SIZE_MAX - (1 << 21),
    SIZE_MAX - 8192, SIZE_MAX - 4096,         SIZE_MAX - 4095,            SIZE_MAX - 64,
    SIZE_MAX - 16,   SIZE_MAX - 15,           SIZE_MAX - 1,               SIZE_MAX,
};

/* The one line, unless the behaviour holds. */
__attribute__((format(printf, 2, 3))) static inline void expect(bool holds, const char *format, ...)
{
    if (holds)
        return;
    char line[512];
    va_list arguments;
    va_start(arguments, format);
    int length = vsnprintf(line, sizeof line - 1, format, arguments);
    va_end(arguments);
    line[length] = '\n';
    ssize_t written = write(2, line, (size_t)length + 1);
    _exit(written > 0 ? 1 : 2);
}

static inline void expect_untouched(const char *call)
{
    expect(errno == UNTOUCHED, "%s changed errno to %d (%s)", call, errno, strerror(errno));
}

/* block: what the call returned; errno was UNTOUCHED before it. */
static inline void expect_enomem(const void *block, const char *call, size_t bytes)
{
    expect(block == NULL, "%s of %#zx bytes returned %p", call, bytes, block);
    expect(errno == ENOMEM, "%s of %#zx bytes failed with errno %d", call, bytes, errno);
    errno = UNTOUCHED;
}

static inline bool is_aligned(const void *block, size_t alignment)
{
    return ((uintptr_t)block & (alignment - 1)) == 0;
}

static inline void expect_aligned(const void *block, size_t alignment, const char *call, size_t bytes)
{
    expect(block != NULL, "%s of %zu bytes failed: %s", call, bytes, strerror(errno));
    expect(is_aligned(block, alignment), "%s of %zu bytes returned %p, which is not %zu-aligned", call, bytes, block,
        alignment);
}

/* Byte `place` of a block filled with a seed; the block is filled in words of 8 bytes. */
static inline unsigned char pattern(size_t place, size_t seed)
{
    uint64_t word = (place / 8 + seed + 1) * 0x9e3779b97f4a7c15u;
    return (unsigned char)(word >> place % 8 * 8);
}

static inline void fill(void *block, size_t bytes, size_t seed)
{
    unsigned char *at = (unsigned char *)block;
    for (size_t i = 0; i + 8 <= bytes; i += 8) {
        uint64_t word = (i / 8 + seed + 1) * 0x9e3779b97f4a7c15u;
        memcpy(at + i, &word, 8);
    }
    for (size_t i = bytes / 8 * 8; i < bytes; i++)
        at[i] = pattern(i, seed);
}

static inline void expect_filled(const void *block, size_t bytes, size_t seed)
{
    const unsigned char *at = (const unsigned char *)block;
    for (size_t i = 0; i + 8 <= bytes; i += 8) {
        uint64_t word;
        memcpy(&word, at + i, 8);
        expect(word == (i / 8 + seed + 1) * 0x9e3779b97f4a7c15u, "byte %zu or soon after, of %zu at %p, has changed",
            i, bytes, block);
    }
    for (size_t i = bytes / 8 * 8; i < bytes; i++)
        expect(at[i] == pattern(i, seed), "byte %zu of %zu at %p has changed", i, bytes, block);
}

static inline void expect_zero(const void *block, size_t bytes)
{
    const unsigned char *at = (const unsigned char *)block;
    expect(block != NULL, "a block of %zu zero bytes was refused", bytes);
    if (bytes == 0 || (at[0] == 0 && memcmp(at, at + 1, bytes - 1) == 0))
        return;
    size_t i = 0;
    while (at[i] == 0)
        i++;
    expect(false, "byte %zu of %zu at %p is not zero", i, bytes, block);
}

/* A block of at least that size, which must be granted, filled with its seed. */
static inline void *filled_block(size_t bytes, size_t seed)
{
    void *block = malloc(bytes);
    expect(block != NULL, "malloc(%zu) failed: %s", bytes, strerror(errno));
    fill(block, bytes, seed);
    return block;
}

/* A block of at least that size, which must be granted, all its bytes 1. */
static inline void *dirty_block(size_t bytes)
{
    void *block = malloc(bytes);
    expect(block != NULL, "malloc(%zu) failed: %s", bytes, strerror(errno));
    return memset(block, 1, bytes);
}

/* A field of /proc/self/statm in bytes: 0 the address space, 1 the resident part. Takes nothing from the heap. */
static inline size_t memory_of_process(int field)
{
    char text[128] = {0};
    FILE *statm = fopen("/proc/self/statm", "r");
    setvbuf(statm, NULL, _IONBF, 0);
    size_t length = fread(text, 1, sizeof text - 1, statm);
    fclose(statm);
    expect(length > 0, "/proc/self/statm cannot be read");
    char *next = text;
    size_t pages = strtoul(next, &next, 10);
    if (field == 1)
        pages = strtoul(next, &next, 10);
    return pages * 4096;
}

/* Starts the program again in an address space of that many bytes, so that the heap itself begins in it. */
static inline void within_address_space(size_t bytes)
{
    struct rlimit limit;
    expect(getrlimit(RLIMIT_AS, &limit) == 0, "getrlimit failed");
    if (limit.rlim_cur <= bytes)
        return;
    limit.rlim_cur = bytes;
    expect(setrlimit(RLIMIT_AS, &limit) == 0, "setrlimit failed");
    execl("/proc/self/exe", "behaviour", (char *)NULL);
    expect(false, "the program cannot be started in %zu bytes", bytes);
}

/* A process that ended with status 0. */
static inline void expect_success(pid_t child, const char *what)
{
    int status = -1;
    expect(child > 0 && waitpid(child, &status, 0) == child, "%s could not be started", what);
    expect(status == 0, "%s ended with wait status %#x", what, status);
}

#endif
