/* Under a small RLIMIT_AS: wide alignments and large blocks come and go, memory runs out, and afterwards all is well. */
#include <errno.h>
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BLOCKS = 100000 };

static void *block[BLOCKS];

int main(void)
{
    for (int round = 0; round < 50; round++) {
        char *wide = memalign(65536, 100);
        char *large = malloc(1 << 20);
        if (wide == NULL || large == NULL)
            return 1;
        memset(wide, 1, 100);
        memset(large, 2, 1 << 20);
        if (malloc_usable_size(wide) < 100 || malloc_usable_size(large) < 1 << 20)
            return 2;
        free(wide);
        free(large);
    }
    for (int round = 0; round < 3; round++) {
        int count = 0;
        errno = 0;
        while (count < BLOCKS && (block[count] = malloc(30000)) != NULL)
            count++;
        if (count == BLOCKS || errno != ENOMEM)
            return 3;
        while (count > 0)
            free(block[--count]);
    }
    return puts("fine") < 0;
}
