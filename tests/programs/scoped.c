/* Blocks that die in the call of the function that asked for them, and others: each function has its count in the test. */
#include <malloc.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#define CALL __attribute__((noinline, noclone))

char *volatile seen;

CALL static void look(const void *at)
{
    seen = (char *)at;
}

/* The look at `here` keeps the call of free from becoming a jump. */
CALL static void by_itself(void)
{
    char here, *block = malloc(40);
    look(block);
    free(block);
    look(&here);
}

/* Optimised, it jumps to free. */
CALL static void by_a_jump(void)
{
    char *block = malloc(48);
    look(block);
    free(block);
}

CALL static char *make(size_t bytes)
{
    char *block = malloc(bytes);
    look(block);
    return block;
}

CALL static void by_the_caller(void)
{
    char here, *block = make(56);
    free(block);
    look(&here);
}

CALL static void drop(char *block)
{
    char here;
    free(block);
    look(&here);
}

CALL static void by_a_callee(size_t bytes)
{
    char here, *block = malloc(bytes);
    look(block);
    drop(block);
    look(&here);
}

CALL static void *drop_in_thread(void *block)
{
    free(block);
    return NULL;
}

CALL static void by_a_thread(void)
{
    pthread_t thread;
    char *block = malloc(80);
    pthread_create(&thread, NULL, drop_in_thread, block);
    pthread_join(thread, NULL);
}

/* Each call frees the block of the call before: stacks do not tell that. */
CALL static void replace(void)
{
    static char *kept;
    free(kept);
    kept = malloc(88);
    look(kept);
}

/* The call in between tells that another call frees the block. */
CALL static char *swap(char *old)
{
    char *block = malloc(96);
    look(old);
    free(old);
    look(block);
    return block;
}

CALL static void grow(void)
{
    char here, *block = malloc(16);
    for (size_t bytes = 32; bytes <= 256; bytes *= 2) {
        block = realloc(block, bytes);
        look(block);
    }
    free(block);
    look(&here);
}

CALL static char *grown(void)
{
    char *block = malloc(300);
    look(block);
    block = realloc(block, 3000);
    look(block);
    return block;
}

CALL static void copy(const char *text)
{
    char here, *block = strdup(text);
    look(block);
    free(block);
    look(&here);
}

CALL static void aligned_and_sized(size_t bytes)
{
    char here, *block = aligned_alloc(64, bytes);
    look(block);
    block = realloc(block, 0) == NULL ? NULL : block; /* a free, under glibc */
    look(&here);
}

/* The inlined function asks, its caller frees. */
static inline __attribute__((always_inline)) char *inlined(size_t bytes)
{
    char *block = malloc(bytes);
    look(block);
    return block;
}

CALL static void by_the_caller_of_an_inlined(void)
{
    char here, *block = inlined(120);
    free(block);
    look(&here);
}

static inline __attribute__((always_inline)) void inlined_whole(size_t bytes)
{
    char *block = malloc(bytes);
    look(block);
    free(block);
}

CALL static void around_an_inlined(void)
{
    char here;
    inlined_whole(144);
    look(&here);
}

CALL static void recurse(int more)
{
    char here, *block = malloc(136);
    look(block);
    if (more > 0)
        recurse(more - 1);
    free(block);
    look(&here);
}

int main(void)
{
    char *last = NULL;
    for (int at = 0; at < 100; at++) {
        by_itself();
        by_a_jump();
        by_the_caller();
        by_a_callee(64 + (size_t)at);
        replace();
        char *block = swap(last);
        by_itself();
        last = block;
        grow();
        char *result = grown();
        free(result);
        copy("a text that is copied");
        aligned_and_sized(128);
        by_the_caller_of_an_inlined();
        around_an_inlined();
    }
    for (int at = 0; at < 100; at++)
        replace();
    for (int at = 0; at < 10; at++)
        by_a_thread();
    recurse(9);
    return 0;
}
