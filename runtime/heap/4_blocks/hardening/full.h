/* Hardening "full": what the emitted malloc and free do with a block. Short blocks, whose words they take two by two, are
 * served here, in straight lines; all others, and whatever is unusual, in full.c. */
#pragma once

#include "1_base/arch/arch.h"
#include "4_blocks/hardening/hardening.h"
#include "4_blocks/hardening/live.h"

#include <string.h>

enum { WORD = sizeof(uint64_t), PAIR = 2 * WORD };

/* Usable bytes of short blocks. They are one word, or at least two: the loads and stores below overlap. */
enum { SHORT_BYTES = 128 };

/* What the first bytes behind those that the program asked for are filled with, SLACK_CHECKED at most. */
enum { FILL = 0xA5, SLACK_CHECKED = 64 };
#define FILLED_WORD (FILL * UINT64_C(0x0101010101010101))

/* Odd, and its inverse modulo 2^64. */
#define SCATTER UINT64_C(0x9E3779B97F4A7C15)
#define GATHER UINT64_C(0xF1DE83E19937733D)

/* A word, or two, wherever they lie; and two that begin where a grain does, as a block does. */
typedef uint64_t any_word __attribute__((aligned(1), may_alias));
typedef uint64_t pair __attribute__((vector_size(PAIR), aligned(1), may_alias));
typedef uint64_t whole_pair __attribute__((vector_size(PAIR), aligned(PAIR), may_alias));

extern const char hs_last_bytes[2 * PAIR]; /* half 0, half 0xFF: from n on, a mask of a pair's last n bytes */

/* The tail is an odd word of its place, plus twice the slack: the bytes between those that were asked for and the tail; and that
 * scattered. Its first byte is never 0, so that a string's end written one too far is seen. A neighbour's thread may look at it
 * (hs_check_before), but where a header lies between. */
static inline uint64_t hs_canary(const char *at)
{
    return (hs_link_key ^ (uintptr_t)at) | 1;
}

static inline void hs_tail_set(char *at, uint64_t tail)
{
    if (HAS_HEADERS)
        memcpy(at, &tail, TAIL_BYTES);
    else
        __atomic_store_n((uint64_t *)at, tail, __ATOMIC_RELAXED);
}

static inline uint64_t hs_tail_of(const char *at)
{
    uint64_t tail;
    if (HAS_HEADERS)
        memcpy(&tail, at, TAIL_BYTES);
    else
        tail = __atomic_load_n((const uint64_t *)at, __ATOMIC_RELAXED);
    return tail;
}

/* What the tail says at this place: more than there can be where it was written to. */
static inline size_t hs_slack_of(const char *at, uint64_t tail)
{
    uint64_t twice = tail * GATHER - hs_canary(at);
    return twice >> 1 | twice << 63;
}

static inline void hs_seal(char *end, size_t slack)
{
    hs_tail_set(end, (hs_canary(end) + 2 * slack) * SCATTER);
}

/* Is the tail zero? It is written, and stays what it is: a fresh page that is read before it is written costs two faults, and
 * no huge page comes. */
static inline bool hs_tail_is_zero(char *at)
{
    return arch_written_zero((uint64_t *)at);
}

static inline bool hs_any(pair words)
{
    return (words[0] | words[1]) != 0;
}

static inline any_word *hs_word(const char *at)
{
    return (any_word *)at;
}

static inline pair *hs_pair(const char *at)
{
    return (pair *)at;
}

static inline whole_pair *hs_whole_pair(const char *at)
{
    return (whole_pair *)at;
}

static inline bool hs_is_short(size_t usable)
{
    return usable - WORD <= SHORT_BYTES - WORD;
}

/* All words of a short block, ored. */
static inline pair hs_words(const char *block, const char *end)
{
    if (end - block < PAIR)
        return (pair){ *hs_word(block) };
    pair words = *hs_pair(end - PAIR) | *hs_whole_pair(block);
    if (end - block > 2 * PAIR) {
        words |= *hs_whole_pair(block + PAIR);
        words |= *hs_pair(end - 2 * PAIR);
    }
    if (end - block > 4 * PAIR) {
        words |= *hs_whole_pair(block + 2 * PAIR);
        words |= *hs_whole_pair(block + 3 * PAIR);
        words |= *hs_pair(end - 4 * PAIR) | *hs_pair(end - 3 * PAIR);
    }
    return words;
}

static inline void hs_clear(char *block, char *end)
{
    const pair zero = { 0 };
    if (end - block < PAIR) {
        *hs_word(block) = 0;
        return;
    }
    *hs_pair(block) = *hs_pair(end - PAIR) = zero;
    if (end - block > 2 * PAIR)
        *hs_pair(block + PAIR) = *hs_pair(end - 2 * PAIR) = zero;
    if (end - block > 4 * PAIR)
        *hs_pair(block + 2 * PAIR) = *hs_pair(block + 3 * PAIR) = *hs_pair(end - 4 * PAIR) = *hs_pair(end - 3 * PAIR) = zero;
}

/* Are the last `slack` bytes of a short block, a pair at most, as they were filled? */
static inline bool hs_is_filled(const char *end, size_t usable, size_t slack)
{
    if (usable < PAIR)
        return ((*hs_word(end - WORD) ^ FILLED_WORD) & *hs_word(hs_last_bytes + WORD + slack)) == 0;
    return !hs_any((*hs_pair(end - PAIR) ^ (pair){ FILLED_WORD, FILLED_WORD }) & *hs_pair(hs_last_bytes + slack));
}

/* The word before a block is the tail of the block before, which is zero while the program does not have that. A slab's first
 * block has none before it, and a header may lie between. */
static inline void hs_check_before(const char *block, size_t usable)
{
    if (HAS_HEADERS || ((uintptr_t)block - hs_span) % SLAB_BYTES == 0)
        return;
    const char *at = block - TAIL_BYTES;
    uint64_t tail = hs_tail_of(at); /* once: its thread may free that block meanwhile */
    if (tail != 0 && hs_slack_of(at, tail) > usable)
        hs_misuse("written to before its start", block);
}

void hs_written_freed(const void *block) __attribute__((noreturn, cold));
void hs_written_behind(const void *block) __attribute__((noreturn, cold));
void *hs_hand_out_any(void *block, size_t bytes); /* also a large block, or none */
void *hs_take_back_any(void *block);
void hs_hold_back(struct heap *heap, void *block); /* in its quarantine, which is not full; without a heap it is freed */

/* A block of the span goes to the program. */
static inline void *hs_hand_out(void *block, size_t bytes)
{
    const size_t usable = hs_class[hs_class_at((uintptr_t)block - hs_span)].usable, slack = usable - bytes;
    char *end = (char *)block + usable;
    if (!hs_is_short(usable) || slack > PAIR)
        return hs_hand_out_any(block, bytes);
    if (!hs_tail_is_zero(end) || hs_any(hs_words(block, end)))
        hs_written_freed(block);
    if (usable < PAIR)
        *hs_word(block) = *hs_word(hs_last_bytes + WORD + slack) & FILLED_WORD;
    else
        *hs_pair(end - PAIR) = *hs_pair(hs_last_bytes + slack) & (pair){ FILLED_WORD, FILLED_WORD };
    hs_seal(end, slack);
    return hs_born(block);
}

/* The program frees a block of the span: it is zero from now on. */
static inline void *hs_take_back(void *block)
{
    const uintptr_t offset = (uintptr_t)block - hs_span;
    if (!hs_is_live(offset))
        hs_not_live(block, "double free");
    const size_t usable = hs_class[hs_class_at(offset)].usable;
    char *end = (char *)block + usable;
    const size_t slack = hs_slack_of(end, hs_tail_of(end));
    if (!hs_is_short(usable) || slack > PAIR)
        return hs_take_back_any(block);
    if (!hs_is_filled(end, usable, slack))
        hs_written_behind(block);
    hs_check_before(block, usable);
    hs_live[offset / GRAIN] = FREED;
    hs_clear(block, end);
    hs_tail_set(end, 0);
    return block;
}

/* The oldest block, which leaves a full quarantine for this one. */
static inline void *hs_exchanged(struct quarantine *quarantine, void *block)
{
    uint32_t oldest = quarantine->oldest;
    void *leaves = quarantine->block[oldest];
    __atomic_store_n(&quarantine->block[oldest], block, __ATOMIC_RELAXED);
    word_set(&quarantine->oldest, (oldest + 1) % QUARANTINE_SLOTS);
    return leaves;
}
