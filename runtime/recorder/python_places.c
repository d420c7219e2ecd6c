/* Places in Python code (python_places.h): by file, function and line, so that code that is made again has the same numbers. */
#include "python_places.h"

#include <stdbool.h>
#include <stddef.h>
#include <string.h>
#include <sys/mman.h>

#include "1_base/spool/spool.h"
#include "modules.h"
#include "python_layout.h"
#include "stacks.h"

#if STACK_DEPTH > 0

enum {
    FIRST_ENTRIES = 1 << 12,
    MOST_ENTRIES = 1 << 20, /* then all are forgotten, and told again as they come */
    FILE_BYTES = 4096,      /* of a name, what is longer is cut */
    NAME_BYTES = 1024,
};

/* By the hash of a code object and an instruction, and by that of what is told of them. */
struct entry {
    uint64_t key;
    uint32_t number;
};

/* All under image->stack_lock. */
static struct entry *entries;
static uint64_t entry_count, used; /* places in the table, and those that are taken */
static uint32_t told; /* the last number; in a child of fork they go on */

uint32_t code_deaths[CODE_DEATHS];
static void (*real_dealloc)(char *code);

/* A code object of whose death this thread has begun to tell; Python code may run amid it. */
struct dying {
    const char *code;
    const struct dying *outer;
};
static __thread const struct dying *dying;

/* Counts before and after: what is told in between is of neither code. */
static void count_death(char *code)
{
    struct dying own = {code, dying};
    uint32_t *deaths = &code_deaths[deaths_at(code) - code_deaths];
    dying = &own;
    __atomic_fetch_add(deaths, 1, __ATOMIC_RELAXED);
    __atomic_thread_fence(__ATOMIC_ACQUIRE); /* who called this has read what was stored last */
    real_dealloc(code);
    __atomic_fetch_add(deaths, 1, __ATOMIC_RELAXED);
    dying = own.outer;
}

/* Have the deaths of code objects counted, from the first one on that is met; false if it is none. */
static bool watch_deaths(const char *code)
{
    static char *code_type; /* until it is known, NULL */
    char *type = *(char *const *)(code + OBJECT_TYPE);
    if (code_type == NULL && strcmp(*(const char *const *)(type + TYPE_NAME), "code") == 0) {
        void (**dealloc)(char *) = (void (**)(char *))(type + TYPE_DEALLOC);
        real_dealloc = *dealloc;
        code_type = type;
        __atomic_store_n(dealloc, count_death, __ATOMIC_RELEASE);
    }
    return code_type == type;
}

static bool is_dying(const char *code)
{
    for (const struct dying *one = dying; one != NULL; one = one->outer)
        if (one->code == code)
            return true;
    return false;
}

void places_reset(void)
{
    entries = NULL;
    entry_count = used = 0;
}

static struct entry *find(uint64_t key)
{
    uint64_t at = key ^ key >> 32;
    while (entries[at & (entry_count - 1)].number != 0 && entries[at & (entry_count - 1)].key != key)
        at++;
    return &entries[at & (entry_count - 1)];
}

/* Have room for two more entries. */
static bool make_entries(void)
{
    if (entries != NULL && 2 * (used + 2) <= entry_count)
        return true;
    struct entry *old = entries;
    uint64_t old_count = entry_count, count = old == NULL ? FIRST_ENTRIES : 2 * old_count;
    bool is_full = count > MOST_ENTRIES;
    struct entry *larger = map_memory((is_full ? FIRST_ENTRIES : count) * sizeof *larger);
    if (larger == NULL)
        return false;
    entries = larger;
    entry_count = is_full ? FIRST_ENTRIES : count;
    used = is_full ? 0 : used;
    for (uint64_t i = 0; !is_full && i < old_count; i++)
        if (old[i].number != 0)
            *find(old[i].key) = old[i];
    if (old != NULL)
        munmap(old, old_count * sizeof *old);
    return true;
}

static void insert(uint64_t key, uint32_t number)
{
    *find(key) = (struct entry){key, number};
    used++;
}

static uint32_t character(const char *text, unsigned bytes, size_t index)
{
    uint32_t found = 0;
    memcpy(&found, text + bytes * index, bytes); /* little-endian */
    return found;
}

/* One character in UTF-8; of a byte that Python could not decode, that byte. */
static char *encode(char *to, uint32_t one)
{
    if (one >= 0xdc80 && one <= 0xdcff) {
        *to++ = (char)(one - 0xdc00);
        return to;
    }
    unsigned more = one < 0x80 ? 0 : one < 0x800 ? 1 : one < 0x10000 ? 2 : 3;
    static const uint8_t first[] = {0, 0xc0, 0xe0, 0xf0};
    *to++ = (char)(first[more] | one >> 6 * more);
    while (more-- > 0)
        *to++ = (char)(0x80 | (one >> 6 * more & 0x3f));
    return to;
}

/* A string of Python, ended by a 0 byte, in at most `room` bytes; one that is not stored as they usually are has no characters. */
static char *copy_text(char *to, const char *text, size_t room)
{
    uint32_t state = *(const uint32_t *)(text + TEXT_STATE);
    uint64_t length = (state & TEXT_COMPACT) != 0 ? *(const uint64_t *)(text + TEXT_LENGTH) : 0;
    const char *characters = text + ((state & TEXT_ASCII) != 0 ? TEXT_OF_ASCII : TEXT_OF_OTHERS), *end = to + room - 5;
    for (uint64_t i = 0; i < length && to < end; i++) {
        uint32_t one = character(characters, state >> TEXT_KIND_SHIFT & TEXT_KIND_MASK, i);
        to = encode(to, one == 0 ? '?' : one);
    }
    *to = '\0';
    return to + 1;
}


/* The number of a place that is told by these words. */
static uint32_t number_told(uint64_t line, const char *text, size_t length)
{
    uint64_t key = mixed(0, line);
    for (size_t i = 0; i < length; i++)
        key = mixed(key, (uint8_t)text[i]);
    uint32_t number = find(key)->number;
    if (number != 0)
        return number;
    uint32_t words = 2 + (uint32_t)(length + 7) / 8;
    uint64_t *record = stack_room(words);
    if (record == NULL)
        return 0;
    record[1] = line;
    memcpy(record + 2, text, length);
    stack_written(record, (uint64_t)++told << 32 | words << 8 | SPOOL_PYTHON, words);
    insert(key, told);
    return told;
}

uint32_t place_number(const struct python_place *place)
{
    static char text[FILE_BYTES + NAME_BYTES];
    const char *code = place->code;
    if (is_dying(code) || !watch_deaths(code) || !make_entries())
        return 0;
    uint64_t key = mixed(mixed(mixed(0, (uint64_t)code), place->last), *deaths_at(code));
    uint32_t number = find(key)->number;
    if (number != 0)
        return number;
    char *end = copy_text(text, *(const char *const *)(code + place->file), FILE_BYTES);
    end = copy_text(end, *(const char *const *)(code + place->name), NAME_BYTES);
    number = number_told((uint64_t)(int64_t)place->line(code, place->offset), text, (size_t)(end - text));
    if (number != 0)
        insert(key, number);
    return number;
}

#endif
