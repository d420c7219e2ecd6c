/* Hardening "off" and "basic": a huge block's mapping is the block. */
#include "4_blocks/hardening/hardening.h"

#include "2_system/os.h"

void *hardening_map(size_t bytes, size_t alignment, bool *narrow)
{
    return os_map(bytes, alignment);
}

void *hardening_remap(void *start, struct huge_place old, size_t new_bytes, size_t new_room, bool *narrow)
{
    return os_remap(start, old.bytes + old.room, new_bytes + new_room);
}

bool hardening_grow(void *room, size_t bytes)
{
    return true;
}

void hardening_cut(void *room, size_t bytes, bool narrow)
{
    os_unmap(room, bytes);
}

void hardening_unmap(void *start, size_t bytes, bool narrow)
{
    os_unmap(start, bytes);
}

size_t hardening_vacate(void)
{
    return 0;
}

bool hardening_narrow(char *start, size_t bytes, bool narrow)
{
    return true;
}
