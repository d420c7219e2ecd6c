/* guarded KIND [HANDLER]: a program that misuses a block, perhaps with a handler of SIGSEGV of its own. Each request is to be a
 * sample. It says how long the block is, and where. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <malloc.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

enum { SIZE = 40, STACK = 1 << 15, SLOTS = 64, LIMIT = 200 << 20, OWN_ERROR = 77 };

static char *volatile block;
static const char *kind = "", *handler = "";
static struct sigaction before;
static sigjmp_buf point;

static int is(const char *word)
{
    return strcmp(kind, word) == 0;
}

static int handles(const char *word)
{
    return strcmp(handler, word) == 0;
}

#ifdef __x86_64__
/* malloc(SIZE) of a function that has no caller, by what it says of itself. */
void *bottom(void);
__asm__(".text\n"
        ".type bottom, @function\n"
        "bottom:\n"
        ".cfi_startproc\n"
        ".cfi_undefined rip\n"
        "    subq $8, %rsp\n"
        ".cfi_def_cfa_offset 16\n"
        "    movl $40, %edi\n"
        "    call malloc@PLT\n"
        "    addq $8, %rsp\n"
        ".cfi_def_cfa_offset 8\n"
        "    ret\n"
        ".cfi_endproc\n"
        ".size bottom, . - bottom\n");
#else
#define bottom() malloc(SIZE)
#endif

__attribute__((noinline)) static void *take(void *unused)
{
    block = is("bottom") ? bottom() : malloc(SIZE);
    printf("%p\n", (void *)block);
    fflush(stdout);
    return unused;
}

__attribute__((noinline)) static void *drop(void *unused)
{
    free(block);
    return unused;
}

__attribute__((noinline)) static void *use(void *place)
{
    errno = OWN_ERROR;
    return (void *)(size_t)*(volatile char *)(block + (long)place);
}

static void in_thread(void *(*function)(void *), void *with)
{
    pthread_t thread;
    if (pthread_create(&thread, NULL, function, with) != 0 || pthread_join(thread, NULL) != 0)
        exit(3);
}

static int is_use(void)
{
    return strncmp(kind, "read", 4) == 0 || is("threads") || is("child");
}

static void on_fault(int number, siginfo_t *fault, void *context)
{
    if (is_use() && errno != OWN_ERROR)
        _exit(8);
    if (write(STDOUT_FILENO, "mine\n", 5) != 5)
        _exit(4);
    if (handles("goes-on"))
        before.sa_sigaction(number, fault, context);
    else if (handles("restores"))
        sigaction(number, &before, NULL);
    else if (handles("recovers"))
        siglongjmp(point, 1);
    else if (!handles("once"))
        _exit(7);
}

static void install(void)
{
    static char stack[STACK];
    const stack_t own = { .ss_sp = stack, .ss_size = sizeof stack };
    struct sigaction action = { .sa_sigaction = on_fault, .sa_flags = SA_SIGINFO | SA_ONSTACK };
    if (handles("once"))
        action.sa_flags |= (int)SA_RESETHAND;
    if (sigaltstack(&own, NULL) != 0 || sigaction(SIGSEGV, &action, &before) != 0)
        exit(5);
}

/* The misuse of a live block. */
__attribute__((noinline)) static void misuse_live(void)
{
    if (is("read-behind"))
        use((void *)(SIZE + 8L)); /* behind what the alignment leaves */
    else if (is("read-before"))
        use((void *)-5000L);
    else if (is("write-behind"))
        block[SIZE + 2] = 'x';
    else if (is("write-before"))
        block[-3] = 'x';
    else if (is("middle"))
        free(block + 16);
    else if (is("size-of-middle"))
        block[0] = (char)malloc_usable_size(block + 16);
    else if (is("null"))
        *(volatile char *)8 = 1;
    else if (is("sent"))
        raise(SIGSEGV);
}

__attribute__((noinline)) static void misuse_freed(void)
{
    if (is("read-freed") || is("too-long") || is("bottom"))
        use((void *)3);
    else if (is("write-freed"))
        memset(block, 'x', SIZE);
    else if (is("twice"))
        free(block);
    else if (is("realloc-freed"))
        block = realloc(block, 2 * SIZE);
    else if (is("threads"))
        in_thread(use, (void *)3);
}

static void in_child(void)
{
    int status = 0;
    pid_t child = fork();
    if (child == 0) {
        use((void *)3);
        _exit(6);
    }
    waitpid(child, &status, 0);
    printf("child: signal %d\n", WIFSIGNALED(status) ? WTERMSIG(status) : 0);
    take(NULL);
    drop(NULL);
}

/* Blocks live on where a limit on address space, below what the slots reserve, makes the library give that back. */
static void limited(void)
{
    char *kept[SLOTS - 3];
    for (int index = 0; index < SLOTS - 3; index++)
        memset(kept[index] = malloc(SIZE), index, SIZE);
    for (int index = 0; index < SLOTS - 3; index++)
        if (index % 30 != 0)
            free(kept[index]);
    if (setrlimit(RLIMIT_AS, &(struct rlimit){ LIMIT, LIMIT }) != 0)
        exit(3);
    for (int index = 0; index < 100; index++)
        free(memset(malloc(10 * SIZE), 1, 10 * SIZE));
    for (int index = 0; index < SLOTS - 3; index += 30) {
        for (int byte = 0; byte < SIZE; byte++)
            if (kept[index][byte] != index)
                exit(9);
        free(kept[index]);
    }
}

/* What new[] made, delete[] or free, and then what malloc makes in the same slots, which any delete may free. */
static void marked(void)
{
    void *(*array_new)(size_t) = (void *(*)(size_t))dlsym(RTLD_DEFAULT, "_Znam");
    void (*array_delete)(void *) = (void (*)(void *))dlsym(RTLD_DEFAULT, "_ZdaPv");
    void (*plain_delete)(void *) = (void (*)(void *))dlsym(RTLD_DEFAULT, "_ZdlPv");
    for (int index = 0; index < SLOTS; index++)
        (index % 2 == 0 ? array_delete : free)(array_new(SIZE));
    for (int index = 0; index < SLOTS; index++)
        plain_delete(malloc(SIZE));
    if (is("wrong-delete"))
        plain_delete(array_new(SIZE));
}

int main(int count, char **argument)
{
    kind = count > 1 ? argument[1] : "";
    handler = count > 2 ? argument[2] : "";
    if (handles("silent"))
        close(STDERR_FILENO);
    if (is("limited"))
        limited();
    if (is("marks") || is("wrong-delete"))
        marked();
    if (is("too-long") && malloc(PTRDIFF_MAX + (size_t)1) != NULL)
        exit(9);
    if (handles("early") || handles("once") || handles("recovers"))
        install();
    free(malloc(SIZE));
    if (handles("late") || handles("silent") || handles("goes-on") || handles("restores"))
        install();
    free(malloc(SIZE));
    for (int turn = 0; turn < (handles("recovers") ? 2 : 1); turn++) {
        if (is("threads"))
            in_thread(take, NULL);
        else
            take(NULL);
        if (sigsetjmp(point, 1) != 0)
            continue;
        misuse_live();
        if (is("threads"))
            in_thread(drop, NULL);
        else
            drop(NULL);
        misuse_freed();
        if (is("child"))
            in_child();
    }
    puts("end");
    return 0;
}
