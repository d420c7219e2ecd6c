/* The place of a huge block: its pages, and room behind them. */
#include "7_large/huge_place.h"

#include "4_blocks/hardening/hardening.h"
#include "2_system/os.h"

size_t huge_place_bytes(struct huge block)
{
    return (block.pages + block.room) * PAGE_BYTES;
}

/* For a block that moves to grow; none where a limit on address space would count it. */
static size_t room_for(size_t pages)
{
    size_t room = pages / ROOM_SHARE;
    return os_reserving && !os_limited() && pages <= UINT32_MAX ? room : 0;
}

static bool grown_into_room(struct huge *block, size_t pages)
{
    size_t more = pages - block->pages;
    if (more > block->room || !hardening_grow(block->start + block->pages * PAGE_BYTES, more * PAGE_BYTES))
        return false;
    block->pages = pages;
    block->room -= (uint32_t)more;
    block->grown += (uint32_t)more;
    return true;
}

static bool moved_to_room(struct huge *block, size_t pages, size_t room)
{
    bool narrow = block->narrow;
    struct huge_place old = { block->pages * PAGE_BYTES, block->room * (size_t)PAGE_BYTES, block->grown * (size_t)PAGE_BYTES };
    char *start = hardening_remap(block->start, old, pages * PAGE_BYTES, room * PAGE_BYTES, &narrow);
    if (start == NULL)
        return false;
    *block = (struct huge){ start, pages, (uint32_t)room, 0, block->ordinal, narrow, block->mark, block->slack, block->sampled };
    return true;
}

bool huge_place_resize(struct huge *block, size_t pages)
{
    if (pages <= block->pages)
        return moved_to_room(block, pages, 0);
    return grown_into_room(block, pages) || moved_to_room(block, pages, room_for(pages)) || moved_to_room(block, pages, 0);
}

void huge_place_cut(struct huge *block)
{
    if (block->room > 0)
        hardening_cut(block->start + block->pages * PAGE_BYTES, block->room * (size_t)PAGE_BYTES, block->narrow);
    block->room = 0;
}
