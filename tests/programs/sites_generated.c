/* A program that makes a function while it runs, and says so in the map that perf(1) reads. */
#define _GNU_SOURCE
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

int main(void)
{
    /* sub rsp, 8; mov edi, 4321; mov rax, malloc; call rax; add rsp, 8; ret */
    unsigned char code[] = {0x48, 0x83, 0xec, 8,    0xbf, 0xe1, 0x10, 0,    0,   0x48, 0xb8, 0, 0,
                            0,    0,    0,    0,    0,    0,    0xff, 0xd0, 0x48, 0x83, 0xc4, 8, 0xc3};
    void *(*allocate)(size_t) = malloc;
    memcpy(code + 11, &allocate, sizeof allocate);
    char *pages = mmap(NULL, 8192, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    char *start = pages + 4096 + 64;
    memcpy(start, code, sizeof code);
    char name[64];
    snprintf(name, sizeof name, "/tmp/perf-%d.map", (int)getpid());
    FILE *map = fopen(name, "w");
    fprintf(map, "not a line of a map\n%lx 1000 before\n", (uintptr_t)pages);
    fprintf(map, "%lx %zx first version\n%lx %zx py::Maker.make:/home/them/maker.py\n", (uintptr_t)start, sizeof code,
            (uintptr_t)start, sizeof code);
    fclose(map);
    for (int i = 0; i < 3; i++)
        ((void *(*)(void))start)();
    return 0;
}
