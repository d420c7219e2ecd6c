/* A library whose constructor has the first malloc of the process, under a lock of the C library or of the dynamic linker. */
#define _GNU_SOURCE
#include <libintl.h>
#include <link.h>
#include <locale.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* The lock of message catalogues. */
static void textdomain_first(void)
{
    bindtextdomain("first", "/nowhere");
    textdomain("first");
}

/* That of locales. */
static void locale_first(void)
{
    freelocale(newlocale(LC_ALL_MASK, "POSIX", NULL));
}

/* The same, with files of locales. */
static void settings_first(void)
{
    setlocale(LC_ALL, "");
}

static int allocate_in_callback(struct dl_phdr_info *object, size_t size, void *count)
{
    char *copy = strdup(object->dlpi_name);
    (void)size;
    *(int *)count += copy != NULL;
    free(copy);
    return 0;
}

/* That of the list of objects. */
static void objects_first(void)
{
    int count = 0;
    dl_iterate_phdr(allocate_in_callback, &count);
    if (count == 0)
        _exit(9);
}

/* A stream's: its buffer is allocated under it. */
static void stream_first(void)
{
    flockfile(stdout);
    putchar_unlocked('.');
    funlockfile(stdout);
}

static void *thread_body(void *unused)
{
    free(malloc(6400));
    return unused;
}

/* None, but another thread allocates first. */
static void thread_first(void)
{
    pthread_t thread;
    if (pthread_create(&thread, NULL, thread_body, NULL) != 0 || pthread_join(thread, NULL) != 0)
        _exit(9);
}

static void allocate_at_fork(void)
{
    free(malloc(6500));
}

/* That of the handlers of fork. */
static void fork_first(void)
{
    for (int index = 0; index < 100; index++)
        pthread_atfork(allocate_at_fork, allocate_at_fork, allocate_at_fork);
}

__attribute__((constructor)) static void begin(void)
{
    FIRST();
}
