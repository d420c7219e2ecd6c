/* A program whose sites have known bytes: small blocks that stay, a large one, and blocks that are freed at once. Then, with an
 * argument, it waits for lines: `a` more small blocks, `d` hs_profile_dump to the file that the argument names. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SMALL = 128, SMALL_BLOCKS = 40000, MORE_BLOCKS = 20000, LARGE = 20 << 20, CHURN = 1000, CHURN_BLOCKS = 10000 };

extern int hs_profile_dump(const char *path) __attribute__((weak));

static void *volatile last;
static void *list;

__attribute__((noinline)) static void keep_small(int blocks)
{
    for (int block = 0; block < blocks; block++) {
        void **made = malloc(SMALL);
        *made = list;
        list = made;
    }
}

__attribute__((noinline)) static void *keep_large(void)
{
    return memset(malloc(LARGE), 1, LARGE);
}

__attribute__((noinline)) static void churn(void)
{
    for (int block = 0; block < CHURN_BLOCKS; block++) {
        last = malloc(CHURN);
        free(last);
    }
}

int main(int count, char **arguments)
{
    keep_small(SMALL_BLOCKS);
    void *volatile large = keep_large();
    churn();
    for (int step = count > 1 ? puts("ready"), fflush(stdout), getchar() : EOF; step != EOF; step = getchar()) {
        if (step == 'a')
            keep_small(MORE_BLOCKS);
        else if (step == 'd')
            printf("%d\n", hs_profile_dump == NULL ? -2 : hs_profile_dump(arguments[1]));
        else
            continue;
        puts("done");
        fflush(stdout);
    }
    return large == NULL;
}
