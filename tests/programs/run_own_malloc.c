/* A program with a malloc of its own in the executable (a bump; nothing is reused), as one that links another allocator
 * statically: with a library preloaded all allocations, libc's too, are the program's still. */
#include "run_blocks.h"

#include <pthread.h>
#include <stdio.h>

enum { SPAN = 1 << 26, HEAD = 16 };

static _Alignas(16) char span[SPAN];
static size_t used;

static bool own(const void *block)
{
    return (const char *)block > span && (const char *)block < span + SPAN;
}

void *malloc(size_t bytes)
{
    size_t wanted = HEAD + ((bytes + 15) & ~(size_t)15);
    size_t at = __atomic_fetch_add(&used, wanted, __ATOMIC_RELAXED);
    if (at + wanted > SPAN) {
        errno = ENOMEM;
        return NULL;
    }
    memcpy(span + at, &bytes, sizeof bytes);
    return span + at + HEAD;
}

void free(void *block)
{
    demand(block == NULL || own(block), "free of a block that the program did not make");
}

void *calloc(size_t count, size_t bytes)
{
    return malloc(count * bytes); /* fresh, hence zero */
}

void *realloc(void *block, size_t bytes)
{
    size_t old = 0;
    void *moved = malloc(bytes);
    if (block != NULL)
        memcpy(&old, (char *)block - HEAD, sizeof old);
    if (block != NULL && moved != NULL)
        memcpy(moved, block, old < bytes ? old : bytes);
    return moved;
}

static void *work(void *unused)
{
    char *text = NULL;
    demand(asprintf(&text, "%d", 4711) == 4 && own(text), "libc allocates elsewhere");
    free(text);
    return unused;
}

int main(void)
{
    pthread_t thread;
    uint64_t counters[8192];
    demand(pthread_create(&thread, NULL, work, NULL) == 0 && pthread_join(thread, NULL) == 0, "no thread");
    char *copy = strdup("mine");
    demand(own(copy), "strdup allocates elsewhere");
    free(copy);
    demand(heapsmith_counters != NULL && heapsmith_counter_count() <= 8192, "no library is preloaded");
    heapsmith_counters(counters);
    for (size_t index = 0; index < heapsmith_counter_count(); index++)
        demand(counters[index] == 0, "the library served something");
    return puts("done") < 0;
}
