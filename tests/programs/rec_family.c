/* Every function of the family once, with a size of its own; failures and NULL too, which are no events. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <malloc.h>
#include <stdint.h>
#include <stdlib.h>

typedef void free_sized_function(void *, size_t);
typedef void free_aligned_sized_function(void *, size_t, size_t);

void *__libc_malloc(size_t bytes);
void *__libc_calloc(size_t count, size_t bytes);
void *__libc_realloc(void *block, size_t bytes);
void *__libc_memalign(size_t alignment, size_t bytes);
void *__libc_valloc(size_t bytes);
void *__libc_pvalloc(size_t bytes);
void __libc_free(void *block);
int __posix_memalign(void **out, size_t alignment, size_t bytes) __attribute__((weak)); /* glibc keeps it to itself */

static volatile size_t huge = SIZE_MAX / 2; /* volatile: the compiler would warn */

static int failures(void)
{
    void *block = malloc(6519), *out = NULL;
    int failed = malloc(huge) == NULL && errno == ENOMEM && calloc(huge, 4) == NULL && realloc(block, huge) == NULL;
    failed = failed && reallocarray(block, huge, 4) == NULL && aligned_alloc(64, huge) == NULL;
    failed = failed && posix_memalign(&out, 64, huge) == ENOMEM && posix_memalign(&out, 3, 64) == EINVAL && out == NULL;
    free(block);
    free(NULL);
    return failed;
}

static void sized(void)
{
    free_sized_function *free_sized = (free_sized_function *)dlsym(RTLD_DEFAULT, "free_sized");
    free_aligned_sized_function *free_aligned_sized =
        (free_aligned_sized_function *)dlsym(RTLD_DEFAULT, "free_aligned_sized");
    free_sized(malloc(6514), 6514);
    free_sized(malloc(70015), 70015);
    free_aligned_sized(aligned_alloc(128, 6528), 128, 6528);
}

static void past_the_own_malloc(void)
{
    __libc_free(malloc(6520));
    free(__libc_malloc(6521));
    free(__libc_realloc(__libc_calloc(2, 3261), 6523));
    __libc_free(__libc_memalign(64, 6524));
    free(__libc_valloc(6525));
    free(__libc_pvalloc(6526));
    __libc_free(NULL);
    void *out;
    if (__posix_memalign != NULL && __posix_memalign(&out, 64, 6529) == 0)
        free(out);
}

int main(void)
{
    errno = 77;
    void *aligned;
    free(malloc(6501));
    free(calloc(3, 2167));
    free(realloc(malloc(6503), 6504));
    free(realloc(realloc(malloc(6505), 300000), 6506));
    free(realloc(NULL, 6507));
    if (realloc(malloc(6508), 0) != NULL)
        return 2;
    free(reallocarray(NULL, 7, 930)); /* 6510 */
    if (posix_memalign(&aligned, 256, 6511) != 0)
        return 3;
    free(aligned);
    free(aligned_alloc(4096, 8192));
    free(memalign(32, 6512));
    free(valloc(6513));
    free(pvalloc(6516)); /* 8192, aligned to 4096 */
    void *zero = malloc(0);
    if (malloc_usable_size(zero) < 1)
        return 4;
    free(zero);
    sized();
    past_the_own_malloc();
    if (errno != 77)
        return 5;
    return failures() ? 0 : 6;
}
