/* A malloc of the program's own libraries (never reuses, 32 bytes before each block): linked to a program, it is
 * what the recorder must call. Its calloc and realloc call its malloc through the dynamic linker, which is no
 * event. */
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>

int own_mallocs; /* looked at by rec_own_main.c */

enum { HEAD = 32, SPAN = 1 << 26 };

void *malloc(size_t bytes)
{
    static char *span;
    static size_t used;
    if (span == NULL)
        span = mmap(NULL, SPAN, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    char *block = span + used + HEAD;
    memcpy(block - sizeof bytes, &bytes, sizeof bytes);
    used += HEAD + ((bytes + 31) & ~(size_t)31);
    own_mallocs++;
    return used <= SPAN ? block : NULL;
}

void free(void *block)
{
    (void)block;
}

void *calloc(size_t count, size_t bytes)
{
    return malloc(count * bytes);
}

void *realloc(void *block, size_t bytes)
{
    size_t old = 0;
    void *moved = malloc(bytes);
    if (block != NULL)
        memcpy(&old, (char *)block - sizeof old, sizeof old);
    if (block != NULL && moved != NULL)
        memcpy(moved, block, old < bytes ? old : bytes);
    return moved;
}
