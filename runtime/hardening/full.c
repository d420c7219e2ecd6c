/* Hardening "full": the live map (live.c), a canary behind each block, freed blocks kept zero, and a quarantine. */
#include "hardening/full.h"

#include "hardening/hardening.h"
#include "hardening/live.h"

#include <string.h>

static const struct class_plan *plan_of(const void *block)
{
    return &hs_class[slab_of(block)->class];
}

/* The canary at an address; its first byte is never 0, so that a string's end written one too far is seen. */
static uintptr_t canary(const void *at)
{
    return ((hs_link_key ^ (uintptr_t)at) * UINT64_C(0x9E3779B97F4A7C15)) | 1;
}

void hardening_seal(void *block, size_t usable)
{
    char *at = (char *)block + usable;
    uintptr_t value = canary(at);
    memcpy(at, &value, TAIL_BYTES);
}

void hardening_unseal(const void *block, size_t usable)
{
    const char *at = (const char *)block + usable;
    uintptr_t value = canary(at);
    if (memcmp(at, &value, TAIL_BYTES) != 0)
        hs_misuse("written to behind its end", block);
}

/* A freed block is zero to its end; what is not was written after the free. */
static void check_zero(const void *block, size_t bytes)
{
    const uint64_t *words = block;
    uint64_t all = 0;
    for (size_t word = 0; word < bytes / sizeof *words; word++)
        all |= words[word];
    if (all != 0)
        hs_misuse("written to after its free", block);
}

void *hs_hand_out(void *block)
{
    if (!in_slab_span(block))
        return block;
    const struct class_plan *plan = plan_of(block);
    check_zero(block, plan->usable + TAIL_BYTES);
    hardening_seal(block, plan->usable);
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
    memset(block, 0, plan->usable + TAIL_BYTES);
    return QUARANTINE > 0 && heap != &hs_no_heap ? quarantined(&heap->quarantine, block) : block;
}

void hardening_empty(struct heap *heap)
{
    struct quarantine *quarantine = &heap->quarantine;
    while (quarantine->held > 0)
        hs_free_small(leave(quarantine));
}
