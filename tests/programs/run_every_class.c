/* run_every_class BYTES SIZE...: BYTES / SIZE blocks of every size, all of them live at once, each keeps its content. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

static unsigned char **some(size_t count)
{
    void *memory = mmap(NULL, count * sizeof(void *), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return memory == MAP_FAILED ? NULL : memory;
}

int main(int words, char **word)
{
    size_t bytes = strtoul(word[1], NULL, 10);
    unsigned char **of[words];
    for (int index = 2; index < words; index++) {
        size_t size = strtoul(word[index], NULL, 10);
        of[index] = some(bytes / size);
        for (size_t block = 0; of[index] != NULL && block < bytes / size; block++) {
            of[index][block] = malloc(size);
            if (of[index][block] == NULL)
                return printf("block %zu of %zu bytes fails\n", block, size) < 0;
            of[index][block][0] = (unsigned char)index;
            of[index][block][size - 1] = (unsigned char)block;
        }
        if (of[index] == NULL)
            return puts("no memory for the program's own table") < 0;
    }
    for (int index = 2; index < words; index++) {
        size_t size = strtoul(word[index], NULL, 10);
        for (size_t block = 0; block < bytes / size; block++) {
            if (of[index][block][0] != (unsigned char)index && size > 1)
                return printf("block %zu of %zu bytes has changed\n", block, size) < 0;
            free(of[index][block]);
        }
    }
    return puts("fine") < 0;
}
