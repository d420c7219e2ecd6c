/* cut WORD: a function whose return address leads nowhere allocates, and ends the program. WORD: low, hidden, data. */
#define _GNU_SOURCE
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

static void *volatile kept;

__attribute__((noinline)) static void cut(void *to)
{
    void **frame = __builtin_frame_address(0);
    frame[1] = to;
    kept = malloc(101);
    exit(0);
}

int main(int count, char **words)
{
    static char data[64];
    void *hidden = mmap(NULL, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (count != 2)
        return 2;
    cut(strcmp(words[1], "low") == 0 ? (void *)16 : strcmp(words[1], "hidden") == 0 ? (char *)hidden + 64 : data + 8);
    return 1;
}
