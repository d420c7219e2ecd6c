/* Which pages a checked library asks for: run_advice COUNT SIZE... allocates as many blocks of each size. It then prints a
 * line for each block: its size, its place (heapsmith_locate), and what madvise(2) was last asked for at its first and at its
 * last byte: h for huge pages, n for no huge pages, - for neither. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { CALLS = 1 << 12, BLOCKS = 1 << 16 };

static struct call {
    uintptr_t begin, end;
    char asked;
} call[CALLS];
static int calls;

/* In front of the C library's, for the program is linked with -rdynamic. */
int madvise(void *start, size_t bytes, int advice)
{
    if (calls < CALLS && (advice == MADV_HUGEPAGE || advice == MADV_NOHUGEPAGE))
        call[calls++] = (struct call){ (uintptr_t)start, (uintptr_t)start + bytes, advice == MADV_HUGEPAGE ? 'h' : 'n' };
    return (int)syscall(SYS_madvise, start, bytes, advice);
}

static char asked_at(uintptr_t address)
{
    for (int i = calls - 1; i >= 0; i--)
        if (call[i].begin <= address && address < call[i].end)
            return call[i].asked;
    return '-';
}

int main(int argc, char **argv)
{
    static struct { const void *start; size_t size; } block[BLOCKS];
    int blocks = 0;
    int64_t (*locate)(const void *) = (int64_t (*)(const void *))dlsym(RTLD_DEFAULT, "heapsmith_locate");
    for (int i = 1; i + 1 < argc; i += 2)
        for (int count = atoi(argv[i]); count > 0 && blocks < BLOCKS; count--, blocks++) {
            block[blocks].size = strtoul(argv[i + 1], NULL, 10);
            block[blocks].start = malloc(block[blocks].size);
        }
    if (locate == NULL)
        return 1;
    for (int i = 0; i < blocks; i++) {
        uintptr_t start = (uintptr_t)block[i].start;
        printf("%zu %ld %c %c\n", block[i].size, locate(block[i].start), asked_at(start),
               asked_at(start + block[i].size - 1));
    }
    return 0;
}
