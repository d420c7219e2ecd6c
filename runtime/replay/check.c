/* The checks of --check: alignment, zeroed calloc, and contents that no other block has written over. */
#include <string.h>

#include "replay.h"

/* Word i of a block's pattern: an odd multiplier (2^64 / golden ratio) makes words differ within and between blocks. */
static uint64_t pattern_word(uint32_t seed, uint64_t i)
{
    return ((uint64_t)seed << 32 | (uint32_t)i) * 0x9E3779B97F4A7C15ull;
}

static uint64_t word_bytes(uint64_t n, uint64_t at)
{
    return n - at < 8 ? n - at : 8;
}

static void fill(struct block *block)
{
    for (uint64_t at = 0; at < block->bytes; at += 8) {
        uint64_t word = pattern_word(block->seed, at / 8);
        memcpy(block->address + at, &word, word_bytes(block->bytes, at));
    }
}

static void check_contents(const struct worker *w, const struct event *event, const struct block *block, uint64_t n)
{
    for (uint64_t at = 0; at < n; at += 8) {
        uint64_t word = pattern_word(block->seed, at / 8);
        if (memcmp(block->address + at, &word, word_bytes(n, at)) != 0)
            fail_event(w, event, "contents of the block of %lu bytes at %p have changed near byte %lu", block->bytes,
                       (void *)block->address, at);
    }
}

void check_whole(const struct worker *w, const struct event *event, const struct block *block)
{
    check_contents(w, event, block, block->bytes);
}

/* A block whose size is a multiple of 16 may hold an object of alignment 16; every other one must do for 8. */
static uint64_t alignment_due(const struct event *event)
{
    if (event->op == OP_ALIGNED)
        return 1ull << event->align_log2;
    return event_bytes(event) % 16 == 0 && event_bytes(event) > 0 ? 16 : 8;
}

static void check_alignment(const struct worker *w, const struct event *event, const struct block *block)
{
    if ((uintptr_t)block->address % alignment_due(event) != 0)
        fail_event(w, event, "the block of %lu bytes at %p is not aligned to %lu", block->bytes,
                   (void *)block->address, alignment_due(event));
}

static void check_zero(const struct worker *w, const struct event *event, const struct block *block)
{
    for (uint64_t at = 0; at < block->bytes; at++)
        if (block->address[at] != 0)
            fail_event(w, event, "byte %lu of the %lu that calloc returned is not zero", at, block->bytes);
}

/* The seed is one that this slot has not had before, so that a block mistaken for its predecessor is seen. */
static void new_pattern(const struct event *event, struct block *block)
{
    uint32_t done = atomic_load_explicit(&block->done, memory_order_relaxed);
    block->seed = event->slot * 0x9E3779B1u ^ (done + 1) * 0x85EBCA77u;
    fill(block);
}

void check_birth(const struct worker *w, const struct event *event, struct block *block)
{
    check_alignment(w, event, block);
    if (event->op == OP_CALLOC)
        check_zero(w, event, block);
    new_pattern(event, block);
}

void check_resized(const struct worker *w, const struct event *event, struct block *block, uint64_t old_bytes)
{
    check_alignment(w, event, block);
    check_contents(w, event, block, old_bytes < block->bytes ? old_bytes : block->bytes);
    new_pattern(event, block);
}
