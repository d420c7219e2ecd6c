/* Small attacks on the heap, each kind at three sizes: each runs in a child of its own, and a line says how the child ended.
 *
 * "stopped": a signal ended it; "foiled": it went on, and the attack had no effect; "hit": the attack went through. */
#include <alloca.h>
#include <fcntl.h>
#include <new>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { HIT, FOILED };
enum { NEIGHBOURS = 8, KEPT = 16, FAR = 1 << 20, FEW = 32 };

/* The compiler sees neither what is allocated nor what is done to it. */
template <typename T> static T *hidden(T *block)
{
    __asm__ volatile("" : "+r"(block) : : "memory");
    return block;
}

static char *get(size_t bytes)
{
    return hidden((char *)malloc(bytes));
}

/* A block between others of its size; all are freed at last, as a program would. */
struct crowd {
    char *block[2 * NEIGHBOURS + 1];
    char *at;

    explicit crowd(size_t bytes)
    {
        for (char *&each : block)
            memset(each = get(bytes), 'a', bytes);
        at = block[NEIGHBOURS];
    }

    ~crowd()
    {
        for (char *each : block)
            free(hidden(each));
    }
};

static char source[FAR];

/* The byte at the distance from the block's end or start, or all of them. */
template <long distance, bool whole> static int overflow(size_t bytes)
{
    crowd blocks(bytes);
    if (whole)
        memcpy(hidden(blocks.at + bytes), hidden(source), distance);
    else
        *(volatile char *)hidden(blocks.at + bytes + distance - 1) = 'x';
    return HIT;
}

template <long distance, bool whole> static int underflow(size_t bytes)
{
    crowd blocks(bytes);
    if (whole)
        memcpy(hidden(blocks.at - distance), hidden(source), distance);
    else
        *(volatile char *)hidden(blocks.at - distance) = 'x';
    return HIT;
}

static int double_free(size_t bytes)
{
    char *block = get(bytes);
    free(block);
    free(hidden(block));
    return HIT;
}

static int double_free_delayed(size_t bytes)
{
    char *block = get(bytes), *other[KEPT];
    for (char *&each : other)
        each = get(bytes);
    free(block);
    for (char *each : other)
        free(each);
    free(hidden(block));
    return HIT;
}

static int double_free_interleaved(size_t bytes)
{
    char *block = get(bytes), *other = get(bytes);
    free(block);
    free(other);
    free(hidden(block));
    return HIT;
}

static int free_stack(size_t bytes)
{
    alignas(64) char array[256];
    free(hidden(array + bytes % 2));
    return HIT;
}

static int free_alloca(size_t bytes)
{
    free(hidden((char *)alloca(bytes)));
    return HIT;
}

static int free_static(size_t bytes)
{
    alignas(64) static char array[2 * FAR];
    free(hidden(array + bytes / 64 * 64));
    return HIT;
}

static int free_far(size_t bytes)
{
    free(hidden(get(bytes) + (1L << 40)));
    return HIT;
}

static int free_near(size_t bytes)
{
    free(hidden(get(bytes) + 16));
    return HIT;
}

static int free_unaligned(size_t bytes)
{
    free(hidden(get(bytes) + 1));
    return HIT;
}

static int write_after_free(size_t bytes)
{
    char *block = get(bytes);
    free(block);
    *(volatile char *)hidden(block + bytes / 2) = 'x';
    for (int turn = 0; turn < 1024; turn++)
        free(get(bytes));
    return HIT;
}

static int read_after_free(size_t bytes)
{
    char *block = get(bytes);
    memset(block, 'a', bytes);
    free(hidden(block));
    return *(volatile char *)hidden(block + bytes / 2) == 'a' ? HIT : FOILED;
}

/* The next blocks of the size are where the freed block was. */
static int reuse(size_t bytes)
{
    char *block = get(bytes);
    free(block);
    for (int turn = 0; turn < KEPT; turn++)
        if (get(bytes) == block)
            return HIT;
    return FOILED;
}

static int reuse_by_realloc(size_t bytes)
{
    char *block = get(bytes);
    char *other = get(bytes / 4);
    free(block);
    return hidden((char *)realloc(other, bytes)) == block ? HIT : FOILED;
}

static int new_then_array_delete(size_t bytes)
{
    ::operator delete[](hidden(::operator new(bytes)));
    return HIT;
}

static int array_new_then_delete(size_t bytes)
{
    ::operator delete(hidden(::operator new[](bytes)));
    return HIT;
}

static int delete_of_less(size_t bytes)
{
    ::operator delete(hidden(::operator new(bytes)), bytes / 2);
    return HIT;
}

static int delete_of_more(size_t bytes)
{
    ::operator delete(hidden(::operator new(bytes)), 2 * bytes);
    return HIT;
}

/* The byte at this place of a block of no bytes: the first, one of the first few, one of many. */
static size_t place_of(size_t bytes)
{
    return bytes < 1000 ? 0 : bytes < FAR ? FEW / 4 : FEW;
}

static int read_of_none(size_t bytes)
{
    (void)*(volatile char *)hidden(get(0) + place_of(bytes));
    return HIT;
}

static int write_of_none(size_t bytes)
{
    char *block = get(0);
    *(volatile char *)hidden(block + place_of(bytes)) = 'x';
    free(block);
    return HIT;
}

static const struct {
    const char *name;
    int (*attack)(size_t bytes);
} KINDS[] = {
    { "overflow_1", overflow<1, false> },
    { "overflow_32", overflow<FEW, false> },
    { "overflow_1m", overflow<FAR, false> },
    { "overflow_1_memcpy", overflow<1, true> },
    { "overflow_32_memcpy", overflow<FEW, true> },
    { "overflow_1m_memcpy", overflow<FAR, true> },
    { "underflow_1", underflow<1, false> },
    { "underflow_32", underflow<FEW, false> },
    { "underflow_1m", underflow<FAR, false> },
    { "underflow_1_memcpy", underflow<1, true> },
    { "underflow_32_memcpy", underflow<FEW, true> },
    { "underflow_1m_memcpy", underflow<FAR, true> },
    { "double_free", double_free },
    { "double_free_delayed", double_free_delayed },
    { "double_free_interleaved", double_free_interleaved },
    { "free_stack", free_stack },
    { "free_alloca", free_alloca },
    { "free_static", free_static },
    { "free_far", free_far },
    { "free_near", free_near },
    { "free_unaligned", free_unaligned },
    { "write_after_free", write_after_free },
    { "read_after_free", read_after_free },
    { "reuse", reuse },
    { "reuse_by_realloc", reuse_by_realloc },
    { "new_then_array_delete", new_then_array_delete },
    { "array_new_then_delete", array_new_then_delete },
    { "delete_of_less", delete_of_less },
    { "delete_of_more", delete_of_more },
    { "read_of_none", read_of_none },
    { "write_of_none", write_of_none },
};

static const struct {
    const char *name;
    size_t bytes;
} SIZES[] = { { "small", 40 }, { "medium", 8000 }, { "large", 1500000 } };

static const char *outcome_of(int (*attack)(size_t bytes), size_t bytes)
{
    pid_t child = fork();
    if (child == 0) {
        dup2(open("/dev/null", O_WRONLY), STDERR_FILENO);
        _exit(attack(bytes));
    }
    int status;
    if (child < 0 || waitpid(child, &status, 0) != child)
        _exit(2);
    return WIFSIGNALED(status) ? "stopped" : WEXITSTATUS(status) == FOILED ? "foiled" : "hit";
}

int main()
{
    for (const auto &kind : KINDS)
        for (const auto &size : SIZES)
            printf("%s %s %s\n", kind.name, size.name, outcome_of(kind.attack, size.bytes));
    return 0;
}
