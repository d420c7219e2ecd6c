/* Allocations whose stacks are known: each size has one path, through functions whose names the test holds. */
#include <alloca.h>
#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#define APART __attribute__((noinline, noclone))

static void *volatile kept;

APART static void direct(void)
{
    kept = malloc(101);
}

APART static void recurse(int depth)
{
    if (depth > 0)
        recurse(depth - 1);
    else
        kept = malloc(102);
    kept = NULL;
}

APART static void leaf(size_t bytes)
{
    kept = malloc(bytes);
    kept = NULL;
}

/* All ways from main to `leaf` have one return address there and one height of the stack. */
APART static void left(void)
{
    leaf(103);
    kept = NULL;
}

APART static void right(void)
{
    leaf(104);
    kept = NULL;
}

APART static void late(void)
{
    leaf(113);
    kept = NULL;
}

APART static void *in_thread(void *unused)
{
    for (int i = 0; i < 100; i++)
        leaf(105);
    kept = NULL;
    return unused;
}

APART static void in_child(void)
{
    leaf(106);
    kept = NULL;
}

APART static void handle(int unused)
{
    (void)unused;
    leaf(107);
    kept = NULL;
}

APART static void interrupted(void)
{
    raise(SIGUSR1);
    kept = NULL;
}

APART static void in_plugin(const char *path, size_t bytes)
{
    void *library = dlopen(path, RTLD_NOW);
    void (*allocate)(size_t) = (void (*)(size_t))dlsym(library, "allocate");
    allocate(bytes);
    dlclose(library);
    kept = NULL;
}

APART static void wobble(size_t more)
{
    *(volatile char *)alloca(more) = 1;
    leaf(110);
    kept = NULL;
}

APART static void grow(void *block)
{
    kept = realloc(block, 112);
    kept = NULL;
}

int main(int count, char **arguments)
{
    pthread_t threads[2];
    (void)count;
    alarm(60); /* a look at what is remembered may have no end */
    direct();
    recurse(5);
    for (int i = 0; i < 5000; i++) {
        left();
        right();
    }
    late();
    for (int i = 0; i < 2; i++)
        pthread_create(&threads[i], NULL, in_thread, NULL);
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], NULL);
    if (fork() == 0) {
        in_child();
        _exit(0);
    }
    wait(NULL);
    signal(SIGUSR1, handle);
    for (int i = 0; i < 3; i++)
        interrupted();
    for (int i = 0; i < 2; i++)
        in_plugin(arguments[1 + i], 108 + (size_t)i);
    for (size_t i = 0; i < 50; i++)
        wobble(16 * (i % 5) + 1);
    void *block = malloc(111);
    grow(block);
    return 0;
}
