/* crash KIND: a program that faults in the heap's code (write, bus), in its own (own, sent), or frees a block twice. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
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

/* A page of a file that has none. */
static void *lost_page(void)
{
    FILE *file = tmpfile();
    void *page = file == NULL ? MAP_FAILED : mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fileno(file), 0);
    if (page == MAP_FAILED)
        _exit(9);
    return page;
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
    } else if (strcmp(kind, "bus") == 0) {
        void *volatile *blocks = block, *page = lost_page();
        free_all();
        for (int index = 0; index < MANY; index++)
            memcpy(blocks[index], &page, sizeof page);
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
