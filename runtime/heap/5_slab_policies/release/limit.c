/* The limit on memory that a heap keeps away from: the least of those of the process's control groups, or as it was told. */
#include "2_system/read_text.h"
#include "5_slab_policies/release/release.h"

#include <stdlib.h>
#include <string.h>

#define NO_LIMIT UINT64_MAX
enum { LIMIT_PATH = 1 << 12 };

static uint64_t limit_mark = LIMIT_MARK_BYTES; /* written at the start alone */
static bool limit_told = LIMIT_BYTES > 0;

bool release_near_limit(void)
{
    return __atomic_load_n(&hs_count.committed, __ATOMIC_RELAXED) > __atomic_load_n(&limit_mark, __ATOMIC_RELAXED);
}

static void set_limit(uint64_t bytes)
{
    uint64_t mark = bytes < NO_LIMIT / 100 ? bytes * LIMIT_PERCENT / 100 : NO_LIMIT;
    __atomic_store_n(&limit_mark, mark, __ATOMIC_RELAXED);
}

void release_limit(uint64_t bytes)
{
    if (LIMIT_BYTES > 0)
        return;
    limit_told = true;
    set_limit(bytes > 0 ? bytes : NO_LIMIT);
}

/* The least limit of the group at `path` below `root` and of those that it is in. A container may see its own group as the
 * root, whatever path it is told. */
static uint64_t group_limit(const char *root, const char *path, size_t length, const char *name)
{
    uint64_t least = NO_LIMIT;
    char file[2 * LIMIT_PATH], text[32];
    size_t start = strlen(root);
    for (;;) {
        memcpy(file, root, start);
        memcpy(file + start, path, length);
        strcpy(file + start + length, name);
        os_read_text(file, text, sizeof text);
        if (text[0] >= '0' && text[0] <= '9') { /* otherwise "max", or no such file */
            uint64_t limit = strtoull(text, NULL, 10);
            least = limit < least ? limit : least;
        }
        if (length == 0)
            return least;
        while (length > 0 && path[--length] != '/')
            ;
    }
}

static bool has_word(const char *list, size_t length, const char *word)
{
    for (const char *end = list + length; list < end; list += strcspn(list, ",:") + 1)
        if (strncmp(list, word, strlen(word)) == 0 && strchr(",:", list[strlen(word)]) != NULL)
            return true;
    return false;
}

/* A line of /proc/self/cgroup, NUMBER:CONTROLLERS:PATH; see cgroups(7). */
static uint64_t line_limit(const char *line)
{
    const char *controllers = strchr(line, ':');
    const char *path = controllers != NULL ? strchr(++controllers, ':') : NULL;
    if (path == NULL)
        return NO_LIMIT;
    size_t names = (size_t)(path++ - controllers), length = strcspn(path, "\n");
    if (length >= LIMIT_PATH)
        return NO_LIMIT;
    if (has_word(controllers, names, "memory"))
        return group_limit("/sys/fs/cgroup/memory", path, length, "/memory.limit_in_bytes");
    return names == 0 ? group_limit("/sys/fs/cgroup", path, length, "/memory.max") : NO_LIMIT;
}

void release_limit_start(void)
{
    if (limit_told)
        return;
    static char groups[4 * LIMIT_PATH];
    os_read_text("/proc/self/cgroup", groups, sizeof groups);
    uint64_t least = NO_LIMIT;
    for (const char *line = groups; line != NULL && *line != '\0'; line = strchr(line, '\n'), line += line != NULL) {
        uint64_t limit = line_limit(line);
        least = limit < least ? limit : least;
    }
    set_limit(least);
}
