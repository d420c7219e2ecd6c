/* The memory that a case's threads share: named regions, numbered by words. */
#include "world.h"

#include <string.h>

enum { REGIONS = 32 };

static struct region {
    const char *name;
    char *start;
    size_t bytes;
    int first; /* its first word; a region begins a word wherever it lies */
} regions[REGIONS];
static int region_count;
static size_t shared_words;

void share(const char *name, void *start, size_t bytes)
{
    regions[region_count++] = (struct region){ name, start, bytes, (int)shared_words };
    shared_words += (bytes + 7) / 8;
    expect(shared_words <= WORDS && region_count < REGIONS, "too much is shared");
}

static const struct region *region_of(const void *address)
{
    for (int index = 0; index < region_count; index++)
        if ((size_t)((const char *)address - regions[index].start) < regions[index].bytes)
            return &regions[index];
    return NULL;
}

int word_of(const void *address)
{
    const struct region *region = region_of(address);
    if (region == NULL)
        fail("memory that the case does not share is used");
    return region->first + (int)(((const char *)address - region->start) / 8);
}

void save_shared(uint64_t to[WORDS])
{
    memset(to, 0, WORDS * sizeof to[0]);
    for (int index = 0; index < region_count; index++)
        memcpy(to + regions[index].first, regions[index].start, regions[index].bytes);
}

void restore_shared(const uint64_t from[WORDS])
{
    for (int index = 0; index < region_count; index++)
        memcpy(regions[index].start, from + regions[index].first, regions[index].bytes);
}

const char *name_of(const void *address, size_t *offset)
{
    const struct region *region = region_of(address);
    *offset = region != NULL ? (size_t)((const char *)address - region->start) : 0;
    return region != NULL ? region->name : "-";
}
