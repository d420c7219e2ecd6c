/* Opens a library in a namespace of its own (dlmopen), with a C library of its own, and lets it work in two threads; with PLUGIN
 * that library. Its blocks have OTHERS bytes, those of the program OWN. */
#define _GNU_SOURCE
#include <stdlib.h>
#include <string.h>

enum { OWN = 1009, OTHERS = 2003, COUNT = 500 };

#ifdef PLUGIN
int work(int turns)
{
    char *kept[COUNT] = { NULL };
    for (int turn = 0; turn < turns; turn++) {
        int at = turn % COUNT;
        if (kept[at] != NULL && kept[at][OTHERS - 1] != (char)at)
            return 5;
        free(kept[at]);
        kept[at] = malloc(OTHERS);
        memset(kept[at], at, OTHERS);
    }
    for (int at = 0; at < COUNT; at++)
        free(kept[at]);
    return 0;
}
#else
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>

static int (*work)(int turns);

static void *in_thread(void *with)
{
    free(malloc(OWN));
    return work(20 * COUNT) == 0 ? with : NULL;
}

int main(int count, char **words)
{
    void *library = count == 2 ? dlmopen(LM_ID_NEWLM, words[1], RTLD_NOW) : NULL;
    char *kept[COUNT];
    pthread_t thread;
    void *ended = NULL;
    if (library == NULL)
        return 2;
    work = (int (*)(int))dlsym(library, "work");
    for (int at = 0; at < COUNT; at++)
        memset(kept[at] = malloc(OWN), at, OWN);
    if (work(20 * COUNT) != 0 || pthread_create(&thread, NULL, in_thread, kept) != 0)
        return 3;
    pthread_join(thread, &ended);
    for (int at = 0; at < COUNT; at++) {
        if (kept[at][OWN - 1] != (char)at)
            return 4;
        free(kept[at]);
    }
    dlclose(library);
    puts(ended != NULL ? "done" : "wrong");
    return 0;
}
#endif
