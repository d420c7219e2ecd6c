/* What follows a first malloc in a constructor: translated errors of the dynamic linker, a fork, a thread with the smallest
 * stack there is, an allocation behind all destructors of libraries. Linked to a library of first_constructor.c. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <libintl.h>
#include <limits.h>
#include <locale.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static void before_all(int count, char **arguments, char **environment)
{
    (void)count, (void)arguments, (void)environment;
#ifdef BEFORE_CONSTRUCTORS
    free(malloc(6600));
#endif
}
__attribute__((section(".preinit_array"), used)) static void (*const preinit)(int, char **, char **) = before_all;

__attribute__((destructor(101))) static void after_all(void)
{
    free(malloc(6700));
}

static void *allocate(void *unused)
{
    void *block[20];
    for (int index = 0; index < 20; index++)
        block[index] = malloc((size_t)1 << index);
    for (int index = 0; index < 20; index++)
        free(block[index]);
    return unused;
}

int main(void)
{
    setlocale(LC_ALL, "");
    if (dlsym(RTLD_DEFAULT, "no_such_function") != NULL || strstr(dlerror(), "no_such_function") == NULL)
        return 1;
    free(strdup(gettext("a message")));
    pthread_attr_t attributes;
    pthread_t thread;
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, PTHREAD_STACK_MIN);
    if (pthread_create(&thread, &attributes, allocate, NULL) != 0 || pthread_join(thread, NULL) != 0)
        return 2;
    pid_t child = fork();
    if (child == 0) {
        allocate(NULL);
        exit(0);
    }
    int status;
    if (waitpid(child, &status, 0) != child || status != 0)
        return 3;
    allocate(NULL);
    return puts("done") < 0;
}
