/* Calls of malloc's family that all tools see, in a fixed order, with blocks that stay live. */
#include <stdlib.h>
#ifdef MTRACE
#include <mcheck.h>
#endif
#ifndef LEAST
#define LEAST 1
#endif

int main(void)
{
    enum { HELD = 50 };
    void *held[HELD] = {0};
    unsigned random = 1;
#ifdef MTRACE
    mtrace();
#endif
    for (int i = 0; i < 1500; i++) {
        random = random * 1103515245u + 12345u;
        unsigned at = (random >> 16) % HELD, bytes = (random >> 8) % 500 + LEAST;
        if (!held[at]) {
            held[at] = (random >> 4) % 3 ? malloc(bytes) : calloc(bytes / 8 + 1, 8);
        } else if ((random >> 5) % 3 == 0) {
            held[at] = realloc(held[at], bytes);
        } else {
            free(held[at]);
            held[at] = 0;
        }
    }
    free(aligned_alloc(64, LEAST / 64 * 64 + 128));
    held[0] = realloc(held[0], 0);
    held[1] = realloc(NULL, LEAST + 77);
    free(NULL);
    return held[1] == NULL;
}
