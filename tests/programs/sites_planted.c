/* A program with a planted pin, leak and burst: what `sites`, `leaks` and their advice must name. */
#include <stdlib.h>

enum { REQUESTS = 60000, CACHED_EVERY = 500, LEAKED_EVERY = 60, STEPS = 40000, BURST = 12000 };

static void *scratch[REQUESTS];
static void *cache[REQUESTS / CACHED_EVERY];
static void *burst[BURST];
void *volatile leaked;

/* The pin: a few small blocks that stay, each among the scratch blocks of its time. */
__attribute__((noinline)) static void cache_insert(int at)
{
    cache[at] = malloc(120);
}

/* The leak: nobody frees these. */
__attribute__((noinline)) static void leak_row(void)
{
    leaked = malloc(40);
}

/* The burst: the most bytes of the run, for a short time. */
__attribute__((noinline)) static void load_all(void)
{
    for (int i = 0; i < BURST; i++)
        burst[i] = malloc(1000);
    for (int i = 0; i < BURST; i++)
        free(burst[i]);
}

/* Blocks that live for as long as the requests. */
__attribute__((noinline)) static void parse(int at)
{
    scratch[at] = malloc(120);
}

/* Blocks of no importance, one at a time. */
__attribute__((noinline)) static void step(int at)
{
    free(malloc(16 + at % 64));
    if (at % LEAKED_EVERY == 0)
        leak_row();
}

int main(void)
{
    for (int i = 0; i < REQUESTS; i++) {
        parse(i);
        if (i % CACHED_EVERY == 0)
            cache_insert(i / CACHED_EVERY);
        if (i % 2 == 0)
            step(i);
    }
    for (int i = 0; i < REQUESTS; i++)
        free(scratch[i]);
    load_all();
    for (int i = 0; i < STEPS; i++)
        step(i);
    return 0;
}
