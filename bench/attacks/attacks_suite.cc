/* 116 small attacks: the kinds of mimalloc-bench's folder `security`, at its three sizes, and its five wrong deletes.
 *
 * Each does what the attack of this name does there, in words of its own, and is judged as there: it is caught unless the
 * program goes on and sees the effect. */
#include "attacks.h"

#include <new>
#include <stdint.h>
#include <string>

enum { PAGE = 4096, FAR = 1 << 20, FEW = 32, MOST = 256 << 10, LATER = 1024, MANY = 256 << 10, CHUNKS = 4096 };

static char source[MOST + FAR];

template <long distance> static int overflow(size_t bytes)
{
    char *block = get(bytes);
    *hidden(block + bytes + distance - 1) ^= 'A';
    free(block);
    return HIT;
}

template <long distance> static int underflow(size_t bytes)
{
    char *block = get(bytes);
    *hidden(block - distance) ^= 'A';
    free(block);
    return HIT;
}

template <long distance> static int memcpy_overflow(size_t bytes)
{
    memcpy(get(bytes), hidden(source), bytes + distance);
    return HIT;
}

template <long distance> static int memcpy_underflow(size_t bytes)
{
    memcpy(get(bytes) - distance, hidden(source), bytes);
    return HIT;
}

static void churn(size_t bytes, int turns)
{
    for (int turn = 0; turn < turns; turn++)
        free(get(bytes));
}

static int double_free_delayed(size_t bytes)
{
    char *block = get(bytes);
    free(block);
    churn(bytes, LATER);
    free(hidden(block));
    return HIT;
}

static int double_free_reuse(size_t bytes)
{
    double_free(bytes);
    churn(bytes, MANY);
    return HIT;
}

static int impossibly_large_malloc(size_t bytes)
{
    char *block = get((size_t)-2);
    free(block);
    return block == NULL ? FOILED : HIT;
}

static int invalid_free(size_t bytes)
{
    free(hidden((char *)1));
    return HIT;
}

static int invalid_free_stack(size_t bytes)
{
    char array[MOST];
    free(hidden(array + MOST - bytes));
    return HIT;
}

template <long distance> static int invalid_free_off(size_t bytes)
{
    free(hidden(get(bytes) + distance));
    return HIT;
}

template <size_t divisor> static int malloc_reuse(size_t bytes)
{
    char *block = get(bytes);
    free(block);
    return get(bytes / divisor) == block ? HIT : FOILED;
}

/* The suite compares the old pointer with itself: only a signal counts as caught. */
static int realloc_reuse(size_t bytes)
{
    hidden((char *)realloc(get(8), 1024));
    return HIT;
}

template <bool and_free> static int read_zero_size(size_t bytes)
{
    char *block = get(0);
    putchar(*(volatile char *)block);
    if (and_free)
        free(block);
    return HIT;
}

template <bool and_free> static int write_zero_size(size_t bytes)
{
    char *block = get(0);
    *(volatile char *)block = 'A';
    if (and_free)
        free(block);
    return HIT;
}

static int write_after_free(size_t bytes)
{
    char *block = get(bytes);
    free(block);
    if (bytes == sizeof(uint64_t))
        *(volatile uint64_t *)hidden(block) = 'A'; /* what a compiler makes of so short a memset */
    else
        memset(hidden(block), 'A', bytes);
    return HIT;
}

static int write_after_free_reuse(size_t bytes)
{
    write_after_free(bytes);
    churn(bytes, MANY);
    return HIT;
}

static int is_zero(const char *block, size_t bytes)
{
    for (size_t at = 0; at < bytes; at++)
        if (block[at] != 0)
            return HIT;
    return FOILED;
}

static int zero_after_free(size_t bytes)
{
    char *block = get(bytes);
    memset(block, 'A', bytes);
    free(block);
    return is_zero(hidden(block), bytes);
}

static int zero_on_malloc(size_t bytes)
{
    static char *chunk[CHUNKS];
    for (char *&each : chunk)
        memset(each = get(bytes), 'A', bytes);
    for (char *each : chunk)
        free(each);
    return is_zero(get(bytes), bytes);
}

static int invalid_array_delete_char(size_t bytes)
{
    delete[] hidden(new char);
    return HIT;
}

static int invalid_array_delete_string(size_t bytes)
{
    delete[] hidden(new std::string);
    return HIT;
}

static int invalid_delete_array_char(size_t bytes)
{
    delete hidden(new char[bytes]);
    return HIT;
}

static int invalid_delete_array_string(size_t bytes)
{
    delete hidden(new std::string[bytes]);
    return HIT;
}

static int delete_type_size_mismatch(size_t bytes)
{
    struct wide {
        size_t word[9];
    };
    delete (wide *)hidden((void *)new char);
    return HIT;
}

static const kind KINDS[] = {
    { "one_byte_overflow", overflow<1> },
    { "32_byte_overflow", overflow<FEW> },
    { "one_mbyte_overflow", overflow<FAR> },
    { "one_byte_underflow", underflow<1> },
    { "32_byte_underflow", underflow<FEW> },
    { "one_mbyte_underflow", underflow<FAR> },
    { "one_byte_memcpy_overflow", memcpy_overflow<1> },
    { "32_byte_memcpy_overflow", memcpy_overflow<FEW> },
    { "one_mbyte_memcpy_overflow", memcpy_overflow<FAR> },
    { "one_byte_memcpy_underflow", memcpy_underflow<1> },
    { "32_byte_memcpy_underflow", memcpy_underflow<FEW> },
    { "one_mbyte_memcpy_underflow", memcpy_underflow<FAR> },
    { "double_free", double_free },
    { "double_free_delayed", double_free_delayed },
    { "double_free_interleaved", double_free_interleaved },
    { "double_free_reuse", double_free_reuse },
    { "double_free_single_reuse", double_free_reused },
    { "executable_heap", run_on_the_heap },
    { "impossibly_large_malloc", impossibly_large_malloc },
    { "invalid_free", invalid_free },
    { "invalid_free_alloca", free_alloca },
    { "invalid_free_stack", invalid_free_stack },
    { "invalid_free_close", invalid_free_off<PAGE> },
    { "invalid_free_far", invalid_free_off<1 << 30> },
    { "invalid_free_unaligned", invalid_free_off<1> },
    { "invalid_free_unaligned_multiple", invalid_free_off<8> },
    { "malloc_reuse", malloc_reuse<1> },
    { "malloc_reuse_downsize", malloc_reuse<2> },
    { "realloc_reuse", realloc_reuse },
    { "read_zero_size", read_zero_size<false> },
    { "read_zero_size_free", read_zero_size<true> },
    { "write_zero_size", write_zero_size<false> },
    { "write_zero_size_free", write_zero_size<true> },
    { "write_after_free", write_after_free },
    { "write_after_free_reuse", write_after_free_reuse },
    { "zero_after_free", zero_after_free },
    { "zero_on_malloc", zero_on_malloc },
};

static const kind DELETES[] = {
    { "invalid_array_delete_char", invalid_array_delete_char },
    { "invalid_array_delete_string", invalid_array_delete_string },
    { "invalid_delete_array_char", invalid_delete_array_char },
    { "invalid_delete_array_string", invalid_delete_array_string },
    { "delete_type_size_mismatch", delete_type_size_mismatch },
};

static const size SIZES[] = { { "small", 8 }, { "medium", 4096 }, { "large", MOST } };
static const size MEDIUM[] = { { "medium", 4096 } };

int main()
{
    run(KINDS, SIZES);
    run(DELETES, MEDIUM);
    return 0;
}
