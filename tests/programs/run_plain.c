/* A plain program whose heap is to be heapsmith's, however it came here. Writes the design's name and hash. */
#include "run_blocks.h"

#include <malloc.h>
#include <pthread.h>
#include <stdio.h>

enum { BLOCKS = 400 };

extern long shim_mallocs __attribute__((weak));

static void use(uint32_t random)
{
    struct block row[BLOCKS];
    for (int index = 0; index < BLOCKS; index++) {
        size_t bytes = random_bytes(&random);
        row[index] = (struct block){ malloc(bytes), bytes, (unsigned char)index };
        demand(row[index].start != NULL && heapsmith_locate(row[index].start) >= 0, "a block that is not the library's");
        demand(malloc_usable_size(row[index].start) >= bytes, "malloc_usable_size is not the library's");
        fill(&row[index]);
    }
    for (int index = 0; index < BLOCKS; index++)
        release(&row[index]);
    void *aligned = NULL;
    demand(posix_memalign(&aligned, 128, 1000) == 0 && heapsmith_locate(aligned) >= 0, "posix_memalign is not the library's");
    free(aligned);
    char *copy = strdup("libc allocates for us"), *line = NULL;
    demand(heapsmith_locate(copy) >= 0, "libc's own allocations are not the library's");
    size_t room = 0;
    FILE *file = fopen("/proc/self/maps", "r");
    demand(file != NULL && getline(&line, &room, file) > 0 && heapsmith_locate(line) >= 0, "getline is not the library's");
    fclose(file);
    free(line);
    free(copy);
}

static void *work(void *number)
{
    use(50 + (uint32_t)(uintptr_t)number);
    return NULL;
}

int main(void)
{
    demand(heapsmith_design != NULL && heapsmith_locate != NULL, "heapsmith is not here");
    pthread_t thread[4];
    for (uintptr_t index = 0; index < 4; index++)
        demand(pthread_create(&thread[index], NULL, work, (void *)index) == 0, "no thread");
    use(9);
    for (int index = 0; index < 4; index++)
        pthread_join(thread[index], NULL);
    demand(&shim_mallocs == NULL || shim_mallocs > 4 * BLOCKS, "the other malloc was not called");
    return puts(heapsmith_design()) < 0;
}
