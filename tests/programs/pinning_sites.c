/* A program whose sites keep slabs in known ways, until its standard input ends: of the blocks of one class, keep_apart has each
 * tenth of those that it asked for and keep_together all; keep_alone has half of those of another class. */
#include <stdio.h>
#include <stdlib.h>

enum { SHARED = 96, ALONE = 200, APART = 20000, EACH = 10, TOGETHER = 20000, HALVES = 20000 };

static void *volatile kept[APART + TOGETHER + HALVES];
static void *dropped[APART * EACH + HALVES];

__attribute__((noinline)) static void *keep_apart(void)
{
    void *volatile block = malloc(SHARED);
    return block;
}

__attribute__((noinline)) static void *keep_together(void)
{
    void *volatile block = malloc(SHARED);
    return block;
}

__attribute__((noinline)) static void *keep_alone(void)
{
    void *volatile block = malloc(ALONE);
    return block;
}

int main(void)
{
    for (int block = 0; block < TOGETHER; block++)
        kept[APART + block] = keep_together();
    for (int block = 0; block < APART * EACH; block++)
        if (block % EACH == 0)
            kept[block / EACH] = keep_apart();
        else
            dropped[block] = keep_apart();
    for (int block = 0; block < 2 * HALVES; block++)
        if (block % 2 == 0)
            kept[APART + TOGETHER + block / 2] = keep_alone();
        else
            dropped[APART * EACH + block / 2] = keep_alone();
    for (int block = 0; block < APART * EACH + HALVES; block++)
        free(dropped[block]);
    puts("ready");
    fflush(stdout);
    return getchar() != EOF;
}
