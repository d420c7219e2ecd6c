/* What the recorder's modules.c tells of mappings, and how often it looks: of a text of maps and a clock of its own.
 * Prints each mapping that it tells, and behind each step the number of looks. */
#define _GNU_SOURCE
#include "writer.h"

#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { LOOK_TICKS = 5, ROOM_WORDS = 1024, MOST = 1 << 13, LONGEST = 4095 };

static const char *maps; /* the text; NULL: it cannot be opened */
static size_t at, piece = 100;
static char *buffer; /* of the reader */
static size_t buffer_bytes;
static int open_files;
static uint64_t ticks;
static unsigned looks_seen, told, rooms;
static uint64_t room[ROOM_WORDS + 1];

/* The text comes in pieces that end within lines. */
static long of_maps(long number, ...)
{
    va_list more;
    va_start(more, number);
    if (number == SYS_openat) {
        at = 0;
        ticks += LOOK_TICKS;
        looks_seen++;
        (void)va_arg(more, int);
        (void)va_arg(more, char *);
        if (va_arg(more, int) != (O_RDONLY | O_CLOEXEC))
            abort();
        open_files += maps != NULL;
        return maps == NULL ? -1 : 0;
    }
    if (va_arg(more, int) != 0)
        abort();
    if (number == SYS_close)
        return --open_files;
    char *to = va_arg(more, char *);
    size_t bytes = va_arg(more, size_t), left = strlen(maps + at);
    buffer = at == 0 ? to : buffer;
    buffer_bytes = at == 0 ? bytes : buffer_bytes;
    if (to + bytes != buffer + buffer_bytes)
        abort();
    bytes = bytes < piece ? bytes : piece;
    bytes = bytes < left ? bytes : left;
    memcpy(to, maps + at, bytes);
    at += bytes;
    va_end(more);
    return (long)bytes;
}

#define syscall of_maps
#define stamp_now() ticks
#include "modules.c"
#undef syscall

uint64_t *stack_room(uint32_t words)
{
    memset(room, 0, sizeof room);
    return words > ROOM_WORDS || rooms == 0 ? NULL : (rooms--, room);
}

void stack_written(uint64_t *record, uint64_t word, uint32_t words)
{
    const char *path = (char *)(record + 4);
    size_t length = strlen(path);
    told++;
    if (told < 20)
        printf("  %lx-%lx at %lx '%.9s', %u words, %lx\n", record[1], record[2], record[3], path, words, word);
    for (const char *after = path + length; after < (char *)(record + words); after++)
        if (*after != '\0')
            abort();
}

#define COVER(...) cover((uint64_t[]){__VA_ARGS__}, sizeof((uint64_t[]){__VA_ARGS__}) / sizeof(uint64_t))

static void cover(const uint64_t *addresses, uint32_t count)
{
    unsigned before = looks_seen;
    modules_cover(addresses, count);
    for (uint32_t i = 0; i < count; i++)
        printf("%lx ", addresses[i]);
    printf("%s\n", looks_seen > before ? "looks" : "is known");
}

/* A mapping of the longest path that there is. */
static char *of_a_long_path(void)
{
    static const char begin[] = "1000-2000 r-xp 00000000 fe:01 12345678901234567890 /b\n9000-a000 r-xp 12345678 fe:01 12345678901234567890 ";
    char *text = malloc(sizeof begin + LONGEST + 1), *path = text + sizeof begin - 1;
    strcpy(text, begin);
    memset(path, 'p', LONGEST);
    strcpy(path + LONGEST, "\n");
    return text;
}

/* The most mappings that are known, and one more. */
static char *many(void)
{
    char *text = malloc((MOST + 1) * 64), *end = text;
    for (unsigned i = 0; i <= MOST; i++)
        end += sprintf(end, "%x-%x r-xp 00000000 00:00 1 /m\n", 0x10000 + 0x1000 * i, 0x11000 + 0x1000 * i);
    return text;
}

int main(void)
{
    rooms = 3 * MOST;
    COVER(0x1001); /* nothing can be read */
    maps = "1000-3000 r-xp 00000200 fe:01 77                 /a b\n3000-4000 r--p 00000000 fe:01 77 /a b\nno mapping\n"
           "5000-6000 rwxp 00000000 00:00 0 \n6000-7000 r-xp 00000000 00:00 8                      /of_8_ch\n";
    COVER(0x1001);
    COVER(0x3000, 0x5001, 0x6000, 0x7000);
    COVER(0x1000);
    COVER(0x3001);
    COVER(0x7001);
    COVER(0x3001, 0x1001);
    COVER(0x1001, 0x3001);
    static const uint64_t three[] = {0x1001, 0x5001, 0x3001};
    cover(three, 2);
    cover(three, 0);
    maps = "1000-3000 r-xp 10000200 fe:01 78 /a b\n5000-6000 rwxp 00000000 00:00 0 \n";
    piece = strlen(maps) - 1;
    COVER(0x7001);
    COVER(0x2fff, 0x5001);
    COVER(0x6800);
    modules_stale();
    rooms = 1;
    cover(three, 0);
    modules_stale();
    rooms = 1;
    COVER(0x1001);
    COVER(0x1001);
    unsigned before = looks_seen;
    modules_stale();
    for (int i = 0; i < 300; i++)
        modules_cover(&three[2], 1);
    printf("%u free looks\n", looks_seen - before);
    ticks += 32 * LOOK_TICKS - 1;
    COVER(0x3001);
    ticks++;
    COVER(0x3001);
    COVER(0x3001);
    COVER(0x1001);
    modules_stale();
    rooms = 2 * MOST;
    maps = of_a_long_path();
    COVER(0x9001);
    COVER(0x9001, 0x1001);
    modules_stale();
    told = 20;
    maps = many();
    cover((const uint64_t[]){0xffff + 0x1000ull * MOST}, 1);
    cover((const uint64_t[]){0xffff + 0x1000ull * MOST}, 1);
    cover((const uint64_t[]){0x10fff + 0x1000ull * MOST}, 1);
    printf("%u told, %d files open\n", told - 20, open_files);
    return 0;
}
