/* Hardening "full": the live map (live.c), a canary behind each block, freed blocks kept zero, and a quarantine. */
#include "hardening/full.h"

#include "hardening/guards.h"
#include "hardening/hardening.h"
#include "hardening/live.h"

#include <string.h>

static const struct class_plan *plan_of(const void *block)
{
    return &hs_class[slab_of(block)->class];
}

/* What the first bytes behind those that the program asked for are filled with, SLACK_CHECKED at most. */
enum { FILL = 0xA5, SLACK_CHECKED = 64 };

/* Odd, and its inverse modulo 2^64. */
#define SCATTER UINT64_C(0x9E3779B97F4A7C15)
#define GATHER UINT64_C(0xF1DE83E19937733D)

/* Its first byte is never 0, so that a string's end written one too far is seen. */
static uintptr_t canary(const void *at)
{
    return ((hs_link_key ^ (uintptr_t)at) * SCATTER) | 1;
}

/* The tail is the canary of its place and the slack: the bytes between those that were asked for and the tail. A neighbour's
 * thread may look at it (check_before), but where a header lies between. */
static void tail_set(char *at, uint64_t tail)
{
    if ((size_t)SIZE_BIAS > TAIL_BYTES)
        memcpy(at, &tail, TAIL_BYTES);
    else
        __atomic_store_n((uint64_t *)at, tail, __ATOMIC_RELAXED);
}

static uint64_t tail_of(const char *at)
{
    uint64_t tail;
    if ((size_t)SIZE_BIAS > TAIL_BYTES)
        memcpy(&tail, at, TAIL_BYTES);
    else
        tail = __atomic_load_n((const uint64_t *)at, __ATOMIC_RELAXED);
    return tail;
}

/* What the tail says at this place: more than there can be where it was written to. */
static size_t slack_of(const char *at, uint64_t tail)
{
    return (tail - canary(at)) * GATHER;
}

static size_t checked_of(size_t slack)
{
    return slack < SLACK_CHECKED ? slack : SLACK_CHECKED;
}

static const uint64_t filled_word = FILL * UINT64_C(0x0101010101010101);

enum { WORD = sizeof filled_word, BYTE_BITS = 8 };

static uint64_t word_at(const char *at)
{
    uint64_t word;
    memcpy(&word, at, WORD);
    return word;
}

/* Most slacks are shorter than two words: the last bytes of one, or two that may overlap. A block has a word at least. */
void hardening_fill(void *slack, size_t bytes)
{
    char *last = (char *)slack + bytes - WORD;
    if (bytes > 2 * WORD) {
        hs_fill_any(slack, FILL, checked_of(bytes), SIZE_MAX);
    } else if (bytes >= WORD) {
        memcpy(slack, &filled_word, WORD);
        memcpy(last, &filled_word, WORD);
    } else if (bytes > 0) {
        uint64_t kept = UINT64_MAX >> BYTE_BITS * bytes, word = (word_at(last) & kept) | (filled_word & ~kept);
        memcpy(last, &word, WORD);
    }
}

static bool is_filled(const char *slack, size_t bytes)
{
    const char *last = slack + bytes - WORD;
    if (bytes < WORD)
        return bytes == 0 || (word_at(last) ^ filled_word) >> BYTE_BITS * (WORD - bytes) == 0;
    if (bytes <= 2 * WORD)
        return word_at(slack) == filled_word && word_at(last) == filled_word;
    unsigned char filled[SLACK_CHECKED];
    memset(filled, FILL, sizeof filled);
    return memcmp(slack, filled, checked_of(bytes)) == 0;
}

void hardening_unfill(const void *block, const void *slack, size_t bytes)
{
    if (!is_filled(slack, bytes))
        hs_misuse("written to behind its end", block);
}

void hardening_seal(void *block, size_t usable, size_t bytes)
{
    char *at = (char *)block + usable;
    hardening_fill((char *)block + bytes, usable - bytes);
    tail_set(at, canary(at) + (usable - bytes) * SCATTER);
}

size_t hardening_slack(const void *end)
{
    return slack_of(end, tail_of(end));
}

size_t hardening_bytes(const void *block, size_t usable)
{
    const char *at = (const char *)block + usable;
    size_t slack = slack_of(at, tail_of(at));
    if (slack > usable)
        hs_misuse("written to behind its end", block);
    return usable - slack;
}

void hardening_unseal(const void *block, size_t usable)
{
    size_t bytes = hardening_bytes(block, usable);
    hardening_unfill(block, (const char *)block + bytes, usable - bytes);
}

/* The word before a block is the tail of the block before, which is zero while the program does not have that. A slab's first
 * block has none before it, and a header may lie between. */
static void check_before(const void *block, size_t usable)
{
    if ((size_t)SIZE_BIAS > TAIL_BYTES || ((uintptr_t)block - hs_span) % SLAB_BYTES == 0)
        return;
    const char *at = (const char *)block - TAIL_BYTES;
    uint64_t tail = tail_of(at); /* once: its thread may free that block meanwhile */
    if (tail != 0 && slack_of(at, tail) > usable)
        hs_misuse("written to before its start", block);
}

/* A freed block is zero to its end; what is not was written after the free. */
static void check_zero(const void *block, size_t bytes)
{
    uint64_t first;
    memcpy(&first, block, sizeof first);
    if (first != 0 || memcmp(block, (const char *)block + sizeof first, bytes - sizeof first) != 0)
        hs_misuse("written to after its free", block);
}

/* A write that changes nothing. A fresh page that is read before it is written costs two faults, and no huge page comes. */
static void write_first(char *at)
{
    __asm__ volatile("orq $0, %0" : "+m"(*(uint64_t *)at) : : "cc");
}

void *hs_hand_out(void *block, size_t bytes)
{
    if (!in_slab_span(block))
        return block;
    const struct class_plan *plan = plan_of(block);
    write_first((char *)block + plan->usable);
    check_zero(block, plan->usable + TAIL_BYTES);
    hardening_seal(block, plan->usable, bytes);
    return hs_born(block);
}

/* The oldest block, which leaves the quarantine. */
static void *leave(struct quarantine *quarantine)
{
    void *block = quarantine->block[quarantine->oldest];
    word_set(&quarantine->oldest, (quarantine->oldest + 1) % QUARANTINE_SLOTS);
    word_subtract(&quarantine->held, 1);
    return block;
}

/* The block joins the quarantine; the one that leaves it then. */
static void *quarantined(struct quarantine *quarantine, void *block)
{
    void *leaves = NULL;
    if (quarantine->held == QUARANTINE)
        leaves = leave(quarantine);
    uint32_t behind = (quarantine->oldest + quarantine->held) % QUARANTINE_SLOTS;
    __atomic_store_n(&quarantine->block[behind], block, __ATOMIC_RELAXED);
    word_add(&quarantine->held, 1);
    return leaves;
}

void *hs_take_back(struct heap *heap, void *block)
{
    hs_dies(block);
    const struct class_plan *plan = plan_of(block);
    hardening_unseal(block, plan->usable);
    check_before(block, plan->usable);
    hs_fill_any(block, 0, plan->usable, SIZE_MAX);
    tail_set((char *)block + plan->usable, 0);
    return QUARANTINE > 0 && heap != &hs_no_heap ? quarantined(&heap->quarantine, block) : block;
}

void hardening_empty(struct heap *heap)
{
    struct quarantine *quarantine = &heap->quarantine;
    while (quarantine->held > 0)
        hs_free_small(leave(quarantine));
}
