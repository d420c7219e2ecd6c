/* A spike: MIB of blocks of a form are allocated, then all but a remainder are freed. What is resident afterwards?
 *
 * Forms: small (16 to 1024 bytes), medium (20 to 200 KiB), large (4 MiB). Remainders: tail (the blocks of the last
 * 5 % stay), scattered (one in 10,000 stays, anywhere). Output, in bytes: the RSS before the first block, at the peak
 * and at the end; the live bytes of the last two, by malloc_usable_size. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <malloc.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { TAIL_SHARE = 20, SCATTERED_SHARE = 10000 };

static const struct form {
    const char *name;
    size_t least, most;
} forms[] = { { "small", 16, 1024 }, { "medium", 20 << 10, 200 << 10 }, { "large", 4 << 20, 4 << 20 } };

struct block {
    unsigned char *start;
    size_t bytes;
};

static void stop(const char *why)
{
    fprintf(stderr, "spike: %s\n", why);
    exit(2);
}

/* splitmix64: Steele, Lea, Flood, "Fast splittable pseudorandom number generators", OOPSLA 2014. */
static uint64_t draw(void)
{
    static uint64_t state = 1;
    uint64_t mixed = state += UINT64_C(0x9E3779B97F4A7C15);
    mixed = (mixed ^ mixed >> 30) * UINT64_C(0xBF58476D1CE4E5B9);
    mixed = (mixed ^ mixed >> 27) * UINT64_C(0x94D049BB133111EB);
    return mixed ^ mixed >> 31;
}

static size_t resident_bytes(void)
{
    char text[128];
    size_t pages = 0;
    int file = open("/proc/self/statm", O_RDONLY);
    ssize_t got = file < 0 ? -1 : read(file, text, sizeof text - 1);
    close(file);
    text[got > 0 ? got : 0] = 0;
    if (got <= 0 || sscanf(text, "%*u %zu", &pages) != 1)
        stop("/proc/self/statm cannot be read");
    return pages * (size_t)sysconf(_SC_PAGESIZE);
}

static const struct form *form_named(const char *name)
{
    for (size_t index = 0; index < sizeof forms / sizeof forms[0]; index++)
        if (strcmp(forms[index].name, name) == 0)
            return &forms[index];
    stop("usage: spike small|medium|large tail|scattered MIB");
    return NULL;
}

static size_t live_bytes(const struct block *blocks, size_t count)
{
    size_t bytes = 0;
    for (size_t index = 0; index < count; index++)
        bytes += blocks[index].start != NULL ? malloc_usable_size(blocks[index].start) : 0;
    return bytes;
}

/* Blocks of the form until they are `total` bytes, every page of them written; how many they are. */
static size_t fill(const struct form *form, size_t total, struct block *blocks)
{
    size_t count = 0;
    for (size_t sum = 0; sum < total; count++) {
        size_t bytes = form->least + draw() % (form->most - form->least + 1);
        blocks[count] = (struct block){ malloc(bytes), bytes };
        if (blocks[count].start == NULL)
            stop("out of memory");
        for (size_t offset = 0; offset < bytes; offset += 512)
            blocks[count].start[offset] = (unsigned char)bytes;
        blocks[count].start[bytes - 1] = (unsigned char)bytes;
        sum += bytes;
    }
    return count;
}

static void empty(struct block *blocks, size_t count, int scattered)
{
    for (size_t index = 0; index < count; index++) {
        int stays = scattered ? draw() % SCATTERED_SHARE == 0 : index >= count - count / TAIL_SHARE;
        if (stays)
            continue;
        free(blocks[index].start);
        blocks[index].start = NULL;
    }
}

static unsigned char last_byte(const struct block *block)
{
    return block->start[block->bytes - 1];
}

static void check(const struct block *blocks, size_t count)
{
    for (size_t index = 0; index < count; index++)
        if (blocks[index].start != NULL && last_byte(&blocks[index]) != (unsigned char)blocks[index].bytes)
            stop("the contents of a block changed");
}

int main(int given, char **arguments)
{
    if (given != 4)
        stop("usage: spike small|medium|large tail|scattered MIB");
    const struct form *form = form_named(arguments[1]);
    size_t total = strtoull(arguments[3], NULL, 10) << 20;
    size_t most = total / ((form->least + form->most) / 2) * 2 + 64;
    struct block *blocks =
        mmap(NULL, most * sizeof *blocks, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
    if (blocks == MAP_FAILED)
        stop("no memory for the program's own table");
    printf("spike %s %s: ", form->name, arguments[2]); /* stdio has its buffer now */
    size_t base = resident_bytes();
    size_t count = fill(form, total, blocks);
    size_t peak_live = live_bytes(blocks, count), peak = resident_bytes();
    empty(blocks, count, strcmp(arguments[2], "scattered") == 0);
    check(blocks, count);
    printf("base %zu peak_live %zu peak %zu live %zu resident %zu\n", base, peak_live, peak, live_bytes(blocks, count),
           resident_bytes());
    return 0;
}
