/* The names with __libc_, by which programs reach the C library's malloc past one of their own, are the same heap's: what
   either name gives the other takes. */
#include "behaviour.h"

void *__libc_malloc(size_t bytes);
void *__libc_calloc(size_t count, size_t bytes);
void *__libc_realloc(void *block, size_t bytes);
void *__libc_memalign(size_t alignment, size_t bytes);
void *__libc_valloc(size_t bytes);
void *__libc_pvalloc(size_t bytes);
void __libc_free(void *block);

static void (*const frees[])(void *) = {free, __libc_free};

static void free_by(size_t name, void *block, const char *call, size_t bytes)
{
    expect(block != NULL, "%s of %zu bytes gave NULL", call, bytes);
    expect(malloc_usable_size(block) >= bytes, "%s of %zu bytes gave %zu", call, bytes, malloc_usable_size(block));
    memset(block, 1, bytes);
    frees[name % 2](block);
}

int main(void)
{
    for (size_t i = 0; i < 2 * COUNT_OF(TIERS); i++) {
        size_t bytes = TIERS[i % COUNT_OF(TIERS)];
        free_by(i, __libc_malloc(bytes), "__libc_malloc", bytes);
        free_by(i + 1, malloc(bytes), "malloc", bytes);
        free_by(i, __libc_calloc(bytes, 1), "__libc_calloc", bytes);
        free_by(i, __libc_memalign(256, bytes), "__libc_memalign", bytes);
        free_by(i, __libc_valloc(bytes), "__libc_valloc", bytes);
        free_by(i, __libc_pvalloc(bytes), "__libc_pvalloc", bytes);
        char *block = __libc_realloc(strdup("kept"), bytes + 5);
        expect(block != NULL && strcmp(block, "kept") == 0, "__libc_realloc lost the contents");
        block = realloc(__libc_realloc(block, 2 * bytes + 5), 5);
        expect(block != NULL && strcmp(block, "kept") == 0, "realloc lost the contents of __libc_realloc's block");
        free_by(i, block, "realloc", 5);
    }
    __libc_free(NULL);
    return 0;
}
