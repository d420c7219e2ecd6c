/* Blocks of one size: some call sites keep theirs, others free theirs soon, so that kept blocks lie among short-lived ones.
 *
 * usage: run_sites BLOCKS EVERY ROUNDS CALLS [PLUGIN]
 * With PLUGIN, that keeps blocks too, and each round calls malloc from many sites.
 * Each round makes BLOCKS blocks and keeps one for EVERY of them, frees the others, and then makes CALLS short-lived ones. */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define APART __attribute__((noinline, noclone))

enum { BYTES = 200 };

/* Without the barrier the call would be a jump, and the caller's caller the site. */
APART static void *made(void *block)
{
    if (block == NULL)
        abort();
    memset(block, 1, BYTES);
    return block;
}

APART static void *keep_malloc(void)
{
    return made(malloc(BYTES));
}

APART static void *keep_calloc(void)
{
    return made(calloc(1, BYTES));
}

APART static void *keep_realloc(void)
{
    return made(realloc(made(malloc(4 * BYTES)), BYTES));
}

APART static void *keep_aligned(void)
{
    return made(aligned_alloc(16, BYTES));
}

APART static void *pass(void)
{
    return made(malloc(BYTES));
}

#define FOUR(statements) statements statements statements statements

/* 1,024 call sites: more than the library remembers. */
APART static void many(void)
{
    void *volatile block;
    FOUR(FOUR(FOUR(FOUR(FOUR(block = malloc(2 * BYTES); free(block);)))))
}

static void *(*const keepers[])(void) = { keep_malloc, keep_calloc, keep_realloc, keep_aligned };

static void go_round(size_t blocks, size_t every, size_t calls, void *(*plugin)(size_t), void **short_lived)
{
    for (size_t index = 0; index < blocks; index++) {
        if (index % every == 0)
            keepers[index / every % 4]();
        if (plugin != NULL && index % every == 1)
            memset(plugin(BYTES), 1, BYTES);
        short_lived[index] = pass();
    }
    for (size_t index = 0; index < blocks; index++)
        free(short_lived[index]);
    for (size_t index = 0; index < calls; index++)
        free(pass());
}

int main(int count, char **argument)
{
    size_t blocks = strtoul(argument[1], NULL, 10), every = strtoul(argument[2], NULL, 10);
    size_t calls = strtoul(argument[4], NULL, 10);
    void *library = count > 5 ? dlopen(argument[5], RTLD_NOW) : NULL;
    void *(*plugin)(size_t) = library == NULL ? NULL : (void *(*)(size_t))dlsym(library, "plugin_keep");
    void **short_lived = malloc(blocks * sizeof *short_lived);
    for (unsigned long round = strtoul(argument[3], NULL, 10); round > 0; round--) {
        go_round(blocks, every, calls, plugin, short_lived);
        if (plugin != NULL)
            many();
    }
    return count > 5 && plugin == NULL;
}
