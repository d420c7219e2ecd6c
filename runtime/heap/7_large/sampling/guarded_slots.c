/* The slots of guarded samples (guarded_slots.h): where they lie. */
#include "7_large/sampling/guarded_slots.h"

#include "1_base/page.h"
#include "2_system/os.h"
#include "plan.h"

struct guarded_slot hs_guarded[SAMPLE_GUARDS];
uintptr_t hs_guarded_start;
size_t hs_guarded_bytes;

static size_t slot_stride(void)
{
    return SAMPLE_GUARD_BYTES + PAGE_BYTES;
}

/* The first page has no access either. */
size_t guarded_space(void)
{
    return PAGE_BYTES + SAMPLE_GUARDS * slot_stride();
}

void guarded_init(void)
{
    hs_guarded_start = (uintptr_t)os_range(guarded_space(), PAGE_BYTES);
    hs_guarded_bytes = guarded_space();
}

uintptr_t guarded_end(const struct guarded_slot *slot)
{
    return hs_guarded_start + PAGE_BYTES + (size_t)(slot - hs_guarded) * slot_stride() + SAMPLE_GUARD_BYTES;
}

struct guarded_slot *guarded_at(uintptr_t address)
{
    size_t offset = address - hs_guarded_start;
    return &hs_guarded[offset < PAGE_BYTES ? 0 : (offset - PAGE_BYTES) / slot_stride()];
}

struct guarded_slot *guarded_meant(uintptr_t address)
{
    struct guarded_slot *slot = guarded_at(address);
    if (slot == hs_guarded || (slot->state != GUARDED_NEVER && address >= slot->block))
        return slot;
    struct guarded_slot *before = slot - 1; /* its block ends below the address */
    if (slot->state == GUARDED_NEVER)
        return before->state == GUARDED_NEVER ? slot : before;
    return slot->block - address < address - (before->block + before->bytes) ? slot : before;
}
