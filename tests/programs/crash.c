/* crash KIND: a program that faults in the heap's code (write, loop), in its own (own, sent), or frees a block twice. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MANY = 20000, SIZE = 40 };

static void *block[MANY];

static void allocate(void)
{
    for (int index = 0; index < MANY; index++)
        block[index] = malloc(SIZE);
}

static void free_all(void)
{
    for (int index = 0; index < MANY; index++)
        free(block[index]);
}

static void handler(int number)
{
    (void)number;
    static const char words[] = "mine\n";
    _exit(write(1, words, sizeof words - 1) == sizeof words - 1 ? 7 : 8);
}

int main(int count, char **argument)
{
    const char *kind = count > 1 ? argument[1] : "";
    allocate();
    if (strcmp(kind, "handled") == 0)
        signal(SIGSEGV, handler);
    if (strcmp(kind, "write") == 0 || strcmp(kind, "handled") == 0) {
        void *volatile *blocks = block;
        free_all();
        for (int index = 0; index < MANY; index++)
            memset(blocks[index], 'A', SIZE);
        allocate();
    } else if (strcmp(kind, "twice") == 0) {
        block[3 * MANY / 4] = block[MANY / 2]; /* what lies between no longer fits into fronts and transfer cache */
        for (int index = 0; index < MANY; index++)
            if (index % 100 != 7) /* no slab becomes empty, and forgets */
                free(block[index]);
    } else if (strcmp(kind, "own") == 0) {
        *(volatile char *)8 = 1;
    } else if (strcmp(kind, "sent") == 0) {
        kill(getpid(), SIGSEGV);
        pause();
    }
    puts("end");
    return 0;
}
