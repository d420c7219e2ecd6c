/* Hardening "full": the live map (live.c), a canary behind each block, freed blocks kept zero, and a quarantine. */
#include "4_blocks/hardening/full.h"

#include "4_blocks/hardening/guards.h"
#include "4_blocks/hardening/live.h"

const char hs_last_bytes[2 * PAIR] = { [PAIR ... 2 * PAIR - 1] = (char)0xFF };

static size_t checked_of(size_t slack)
{
    return slack < SLACK_CHECKED ? slack : SLACK_CHECKED;
}

enum { BYTE_BITS = 8 };

static const uint64_t filled_word = FILLED_WORD;
static const pair filled_pair = { FILLED_WORD, FILLED_WORD };

/* Most slacks are shorter than two words: the last bytes of one, or two that may overlap; others are up to four pairs that may.
 * A block has a word at least. */
void hardening_fill(void *slack, size_t bytes)
{
    char *start = slack, *end = start + checked_of(bytes);
    if (bytes > 2 * PAIR)
        *hs_pair(start + PAIR) = *hs_pair(end - 2 * PAIR) = filled_pair;
    if (bytes > PAIR) {
        *hs_pair(start) = *hs_pair(end - PAIR) = filled_pair;
    } else if (bytes >= WORD) {
        *hs_word(start) = *hs_word(end - WORD) = filled_word;
    } else if (bytes > 0) {
        uint64_t kept = UINT64_MAX >> BYTE_BITS * bytes;
        *hs_word(end - WORD) = (*hs_word(end - WORD) & kept) | (filled_word & ~kept);
    }
}

static bool is_filled(const char *slack, size_t bytes)
{
    const char *end = slack + checked_of(bytes);
    if (bytes < WORD)
        return bytes == 0 || (*hs_word(end - WORD) ^ filled_word) >> BYTE_BITS * (WORD - bytes) == 0;
    if (bytes <= PAIR)
        return *hs_word(slack) == filled_word && *hs_word(end - WORD) == filled_word;
    pair other = (*hs_pair(slack) ^ filled_pair) | (*hs_pair(end - PAIR) ^ filled_pair);
    if (bytes > 2 * PAIR)
        other |= (*hs_pair(slack + PAIR) ^ filled_pair) | (*hs_pair(end - 2 * PAIR) ^ filled_pair);
    return !hs_any(other);
}

void hs_written_behind(const void *block)
{
    hs_misuse("written to behind its end", block);
}

void hs_written_freed(const void *block)
{
    hs_misuse("written to after its free", block);
}

void hardening_unfill(const void *block, const void *slack, size_t bytes)
{
    if (!is_filled(slack, bytes))
        hs_written_behind(block);
}

void hardening_seal(void *block, size_t usable, size_t bytes)
{
    hardening_fill((char *)block + bytes, usable - bytes);
    hs_seal((char *)block + usable, usable - bytes);
}

size_t hardening_slack(const void *end)
{
    return hs_slack_of(end, hs_tail_of(end));
}

size_t hardening_bytes(const void *block, size_t usable)
{
    const char *at = (const char *)block + usable;
    size_t slack = hs_slack_of(at, hs_tail_of(at));
    if (slack > usable)
        hs_written_behind(block);
    return usable - slack;
}

void hardening_unseal(const void *block, size_t usable)
{
    size_t bytes = hardening_bytes(block, usable);
    hardening_unfill(block, (const char *)block + bytes, usable - bytes);
}

/* A block that is not short. */
static bool is_zero(const char *at, const char *end)
{
    pair words = { 0 };
    for (; end - at > 4 * PAIR; at += 4 * PAIR) {
        words |= *hs_whole_pair(at);
        words |= *hs_whole_pair(at + PAIR);
        words |= *hs_whole_pair(at + 2 * PAIR);
        words |= *hs_whole_pair(at + 3 * PAIR);
    }
    at = end - 4 * PAIR;
    words |= *hs_pair(at) | *hs_pair(at + PAIR) | *hs_pair(at + 2 * PAIR) | *hs_pair(at + 3 * PAIR);
    return !hs_any(words);
}

static size_t usable_there(const void *block)
{
    return hs_class[hs_class_at((uintptr_t)block - hs_span)].usable;
}

void *hs_hand_out_any(void *block, size_t bytes)
{
    if (!in_slab_span(block))
        return block;
    const size_t usable = usable_there(block);
    char *end = (char *)block + usable;
    if (!hs_tail_is_zero(end) || (hs_is_short(usable) ? hs_any(hs_words(block, end)) : !is_zero(block, end)))
        hs_written_freed(block);
    hardening_seal(block, usable, bytes);
    return hs_born(block);
}

void *hs_take_back_any(void *block)
{
    const size_t usable = usable_there(block);
    hardening_unseal(block, usable);
    hs_check_before(block, usable);
    hs_dies(block);
    hs_fill_any(block, 0, usable, hs_any_size());
    hs_tail_set((char *)block + usable, 0);
    return block;
}

/* The oldest block, which leaves the quarantine. */
static void *leave(struct quarantine *quarantine)
{
    void *block = quarantine->block[quarantine->oldest];
    word_set(&quarantine->oldest, (quarantine->oldest + 1) % QUARANTINE_SLOTS);
    word_subtract(&quarantine->held, 1);
    return block;
}

void hs_hold_back(struct heap *heap, void *block)
{
    struct quarantine *quarantine = &heap->quarantine;
    if (heap == &hs_no_heap) {
        hs_free_small(block);
        return;
    }
    uint32_t behind = (quarantine->oldest + quarantine->held) % QUARANTINE_SLOTS;
    __atomic_store_n(&quarantine->block[behind], block, __ATOMIC_RELAXED);
    word_add(&quarantine->held, 1);
}

void hardening_empty(struct heap *heap)
{
    struct quarantine *quarantine = &heap->quarantine;
    while (quarantine->held > 0)
        hs_free_small(leave(quarantine));
}
