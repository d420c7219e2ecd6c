/* Small attacks on the heap, each kind at three sizes. */
#include "attacks.h"

#include <malloc.h>
#include <new>
#include <stdint.h>
#include <sys/mman.h>

enum { NEIGHBOURS = 8, KEPT = 16, FAR = 1 << 20, FEW = 32, PAGE = 4096 };

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
        *(volatile char *)hidden(blocks.at + bytes + distance - 1) ^= 'x';
    return HIT;
}

template <long distance, bool whole> static int underflow(size_t bytes)
{
    crowd blocks(bytes);
    if (whole)
        memcpy(hidden(blocks.at - distance), hidden(source), distance);
    else
        *(volatile char *)hidden(blocks.at - distance) ^= 'x';
    return HIT;
}

/* What a neighbour holds is read: the byte at the distance from the block's end or start, or all of them. */
template <long distance, bool whole> static int read_over(size_t bytes)
{
    static char into[FAR];
    crowd blocks(bytes);
    memset(blocks.at, 'b', bytes);
    const char *from = distance > 0 ? blocks.at + bytes : blocks.at + distance;
    long many = distance > 0 ? distance : -distance;
    if (whole)
        memcpy(hidden(into), hidden(from), many);
    else
        into[0] = *(const volatile char *)hidden(from + distance - 1);
    return memmem(into, sizeof into, "aaaa", whole ? 4 : 1) != NULL ? HIT : FOILED; /* one 'a' may be a canary's */
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

static int free_stack(size_t bytes)
{
    alignas(64) char array[256];
    free(hidden(array + bytes % 2));
    return HIT;
}

static int free_static(size_t bytes)
{
    alignas(64) static char array[2 * FAR];
    free(hidden(array + bytes / 64 * 64));
    return HIT;
}

static int realloc_after_free(size_t bytes)
{
    char *block = get(bytes);
    free(block);
    hidden((char *)realloc(hidden(block), 2 * bytes));
    return HIT;
}

static int realloc_static(size_t bytes)
{
    alignas(64) static char array[2 * FAR];
    hidden((char *)realloc(hidden(array + bytes / 64 * 64), 2 * bytes));
    return HIT;
}

static int realloc_near(size_t bytes)
{
    hidden((char *)realloc(hidden(get(bytes) + 16), 2 * bytes));
    return HIT;
}

static int size_of_near(size_t bytes)
{
    volatile size_t size = malloc_usable_size(hidden(get(bytes) + 16));
    return HIT;
}

static int free_mapping(size_t bytes)
{
    free(hidden((char *)mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)));
    return HIT;
}

static int free_code(size_t bytes)
{
    free(hidden((char *)free_mapping + bytes));
    return HIT;
}

static int free_low(size_t bytes)
{
    free(hidden((char *)(uintptr_t)(bytes / 8)));
    return HIT;
}

template <long distance> static int free_off(size_t bytes)
{
    free(hidden(get(bytes) + distance));
    return HIT;
}

static int free_end(size_t bytes)
{
    free(hidden(get(bytes) + (bytes + 15) / 16 * 16));
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

/* The whole freed block is written, by memset, and other blocks come and go. */
static int memset_after_free(size_t bytes)
{
    char *block = get(bytes);
    free(block);
    memset(hidden(block), 'x', bytes);
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

static int reuse_by_less(size_t bytes)
{
    char *block = get(bytes);
    free(block);
    return get(bytes / 2) == block ? HIT : FOILED;
}

/* A new block holds what a freed one held. */
static int leftovers(size_t bytes)
{
    char *block[4 * KEPT];
    for (char *&each : block)
        memset(each = get(bytes), 'a', bytes);
    for (char *each : block)
        free(hidden(each));
    return memchr(get(bytes), 'a', bytes) != NULL ? HIT : FOILED;
}

/* More bytes than there are, one more than a multiple that wraps. */
static int too_many(size_t bytes)
{
    char *block = hidden((char *)calloc(SIZE_MAX / bytes + 2, bytes));
    return block == NULL && get(-bytes) == NULL && realloc(get(bytes), -bytes) == NULL ? FOILED : HIT;
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

static int array_delete_of_more(size_t bytes)
{
    ::operator delete[](hidden(::operator new[](bytes)), 2 * bytes);
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

static const kind KINDS[] = {
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
    { "read_over_32", read_over<FEW, false> },
    { "read_over_32_memcpy", read_over<FEW, true> },
    { "read_over_1m_memcpy", read_over<FAR, true> },
    { "read_under_32_memcpy", read_over<-FEW, true> },
    { "double_free", double_free },
    { "double_free_delayed", double_free_delayed },
    { "double_free_interleaved", double_free_interleaved },
    { "double_free_reused", double_free_reused },
    { "realloc_after_free", realloc_after_free },
    { "realloc_static", realloc_static },
    { "realloc_near", realloc_near },
    { "size_of_near", size_of_near },
    { "free_stack", free_stack },
    { "free_alloca", free_alloca },
    { "free_static", free_static },
    { "free_mapping", free_mapping },
    { "free_code", free_code },
    { "free_low", free_low },
    { "free_far", free_off<1L << 40> },
    { "free_far_1g", free_off<1L << 30> },
    { "free_page_off", free_off<PAGE> },
    { "free_near", free_off<16> },
    { "free_end", free_end },
    { "free_unaligned", free_off<1> },
    { "write_after_free", write_after_free },
    { "memset_after_free", memset_after_free },
    { "read_after_free", read_after_free },
    { "reuse", reuse },
    { "reuse_by_less", reuse_by_less },
    { "reuse_by_realloc", reuse_by_realloc },
    { "leftovers", leftovers },
    { "run_on_the_heap", run_on_the_heap },
    { "too_many", too_many },
    { "new_then_array_delete", new_then_array_delete },
    { "array_new_then_delete", array_new_then_delete },
    { "delete_of_less", delete_of_less },
    { "delete_of_more", delete_of_more },
    { "array_delete_of_more", array_delete_of_more },
    { "read_of_none", read_of_none },
    { "write_of_none", write_of_none },
};

static const size SIZES[] = { { "small", 40 }, { "medium", 8000 }, { "large", 1500000 } };

int main(int count, char **)
{
    run(KINDS, SIZES, count > 1);
    return 0;
}
