/* Ceiling `stack`: a stack of blocks per 16-byte class, without tests of the request's size or
 * of a full stack. Valid for one thread and requests of up to 1,024 bytes. A class is a range of
 * addresses, so that free() finds it from the address. The stacks (LIFO; only one thread reads
 * and writes) lie in memory that is reserved whole at load. */
#define _GNU_SOURCE
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>

enum { GRAIN = 16, CLASSES = 65, RANGE_SHIFT = 28, STACK_BLOCKS = 1 << 20, CARVED = 64, COLOUR = 65 * 64 };

static __thread void **top[CLASSES]; /* by class; a NULL lies below the lowest block */
static char *base, *fresh[CLASSES];  /* the ranges; the first unused byte of each */

static void *reserve(size_t bytes)
{
    int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;
    void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, flags, -1, 0);
    if (memory == MAP_FAILED)
        abort();
    return memory;
}

__attribute__((constructor)) static void begin(void)
{
    void **stacks = reserve(CLASSES * sizeof(void *) * STACK_BLOCKS);
    base = reserve((size_t)CLASSES << RANGE_SHIFT);
    for (size_t class = 0; class < CLASSES; class ++) {
        top[class] = stacks + class * STACK_BLOCKS;
        fresh[class] = base + (class << RANGE_SHIFT) + class * COLOUR; /* another cache set */
    }
}

/* Refill the empty stack of `class` with CARVED blocks and return a block; may call begin(). */
static __attribute__((noinline)) void *carve(size_t class)
{
    size_t bytes = class ? class * GRAIN : GRAIN;
    if (base == NULL)
        begin();
    for (int i = 1; i < CARVED; i++)
        *++top[class] = fresh[class] + (size_t)(CARVED - i) * bytes;
    void *block = fresh[class];
    fresh[class] += CARVED * bytes;
    return block;
}

void *malloc(size_t bytes)
{
    size_t class = (bytes + GRAIN - 1) / GRAIN;
    void **newest = top[class];
    void *block = *newest;
    if (__builtin_expect(block == NULL, 0))
        return carve(class);
    top[class] = newest - 1;
    return block;
}

void free(void *block)
{
    if (__builtin_expect(block == NULL, 0))
        return;
    *++top[(uintptr_t)((char *)block - base) >> RANGE_SHIFT] = block;
}
