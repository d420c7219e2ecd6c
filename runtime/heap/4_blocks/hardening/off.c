/* Hardening "off": nothing stands between the program and the machine. */
#include "4_blocks/hardening/hardening.h"

#include "2_system/os.h"

void hardening_released(size_t offset)
{
}

void hardening_check(const void *block)
{
}

void hardening_bad_free(const void *block)
{
}

void hardening_seal(void *block, size_t usable, size_t bytes)
{
}

void hardening_unseal(const void *block, size_t usable)
{
}

void hardening_fill(void *slack, size_t bytes)
{
}

void hardening_unfill(const void *block, const void *slack, size_t bytes)
{
}

size_t hardening_bytes(const void *block, size_t usable)
{
    return usable;
}

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

void hardening_empty(struct heap *heap)
{
}
