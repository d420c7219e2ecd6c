/* Modules (modules.h): the executable lines of /proc/self/maps. The loader's own list would take its locks, which a
 * thread may hold that waits for this one. */
#define _GNU_SOURCE
#include "modules.h"

#include <fcntl.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "digits.h"
#include "writer.h"

enum { MAX_MAPPINGS = 1 << 13, LINE_BYTES = 4096 + 128, FREE_LOOKS = 256, PATIENCE = 32 };

struct mapping {
    uint64_t start, end, offset, file; /* file: its inode */
};

/* All under image->stack_lock. */
static struct mapping known[MAX_MAPPINGS]; /* by ascending address */
static uint32_t known_count;
static bool is_stale;
static uint32_t looks;
static uint64_t next_look; /* stamp: after FREE_LOOKS, looking takes at most one part in PATIENCE of the time */

void modules_stale(void)
{
    known_count = 0;
    looks = 0;
    is_stale = true;
}

static bool is_known(uint64_t address)
{
    if (address >= SPOOL_PLACES)
        return true;
    uint32_t first = 0, stop = known_count;
    while (first < stop) {
        uint32_t middle = (first + stop) / 2;
        if (known[middle].end <= address)
            first = middle + 1;
        else
            stop = middle;
    }
    return first < known_count && known[first].start <= address;
}

static void tell(const struct mapping *mapping, const char *path)
{
    uint32_t words = 4 + (uint32_t)strlen(path) / 8 + 1;
    uint64_t *record = stack_room(words);
    if (record == NULL)
        return;
    memcpy(record + 1, mapping, 3 * sizeof *record);
    strcpy((char *)(record + 4), path); /* what follows it is 0 */
    stack_written(record, words << 8 | SPOOL_MAPPING, words);
}

/* One line: start-end rwxp offset device inode path. */
static void read_line(const char *line, struct mapping *fresh, uint32_t *count)
{
    struct mapping mapping;
    const char *at = line;
    mapping.start = read_number(&at, 16);
    at++;
    mapping.end = read_number(&at, 16);
    bool is_code = at[3] == 'x';
    at += 5;
    mapping.offset = read_number(&at, 16);
    at = strchr(at + 1, ' ');
    if (!is_code || at == NULL || *count == MAX_MAPPINGS)
        return;
    mapping.file = read_number(&at, 10);
    fresh[(*count)++] = mapping;
    for (uint32_t i = 0; i < known_count; i++)
        if (memcmp(&known[i], &mapping, sizeof mapping) == 0)
            return;
    tell(&mapping, at + strspn(at, " "));
}

static void look(void)
{
    static struct mapping fresh[MAX_MAPPINGS];
    static char text[LINE_BYTES];
    uint32_t count = 0;
    size_t held = 0;
    int file = (int)syscall(SYS_openat, AT_FDCWD, "/proc/self/maps", O_RDONLY | O_CLOEXEC);
    if (file < 0)
        return;
    for (long got; (got = syscall(SYS_read, file, text + held, sizeof text - held)) > 0;) {
        char *line = text, *end = text + held + got, *stop;
        for (; (stop = memchr(line, '\n', (size_t)(end - line))) != NULL; line = stop + 1) {
            *stop = '\0';
            read_line(line, fresh, &count);
        }
        held = (size_t)(end - line);
        memmove(text, line, held);
    }
    syscall(SYS_close, file);
    memcpy(known, fresh, count * sizeof *fresh);
    known_count = count;
}

void modules_cover(const uint64_t *addresses, uint32_t count)
{
    bool is_covered = !is_stale;
    for (uint32_t i = 0; i < count && is_covered; i++)
        is_covered = is_known(addresses[i] - 1);
    uint64_t began = stamp_now();
    if (is_covered || (looks > FREE_LOOKS && began < next_look)) /* code that a compiler makes at run time */
        return;
    looks++;
    look();
    is_stale = false;
    uint64_t now = stamp_now();
    next_look = now + PATIENCE * (now - began);
}
