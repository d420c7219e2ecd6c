/* Segregation "sites": the group of a call, by the address that it returns to.
 *
 * `calls_seen` holds what was found of earlier calls, a word for each: the address above GROUP_BITS, the group below. An address
 * may be in either of two neighbouring words. Threads read and write the words without a lock: each word is whole in
 * itself, a lost one is found anew, and all threads find the same. A call that is in neither goes to the dynamic linker,
 * which tells the file of its code without a lock (_dl_find_object, glibc 2.35). So files that are loaded later need no
 * notice. What is loaded where another file was unloaded may count as that file's call, until its word is needed. */
#define _GNU_SOURCE
#include "3_records/segregation/segregation.h"

#include <dlfcn.h>
#include <link.h>
#include <string.h>

enum { GROUP_BITS = 8, HASH_SHIFT = 1 + __builtin_clzl(SITE_SLOTS) };

_Static_assert(SITE_GROUPS < 1 << GROUP_BITS, "a group fits below the address");
_Static_assert((SITE_SLOTS & (SITE_SLOTS - 1)) == 0 && SITE_SLOTS >= 2 * SITE_COUNT, "a power of two, with room for the sites");

static uintptr_t calls_seen[SITE_SLOTS];

/* Fibonacci hashing (Knuth, The Art of Computer Programming, vol. 3, 6.4). */
static uintptr_t *seen_of(uintptr_t address)
{
    return &calls_seen[address * 0x9e3779b97f4a7c15 >> HASH_SHIFT];
}

static uintptr_t *neighbour(uintptr_t *word)
{
    return &calls_seen[(size_t)(word - calls_seen) ^ 1];
}

static bool is_build_id(const char *digits, const uint8_t *bytes, size_t count)
{
    static const char digit[] = "0123456789abcdef";
    for (size_t index = 0; index < count; index++)
        if (digits[2 * index] != digit[bytes[index] >> 4] || digits[2 * index + 1] != digit[bytes[index] & 15])
            return false;
    return digits[2 * count] == '\0';
}

/* The number of the module with the build id of the file that is loaded there; SITE_MODULES if there is none. */
static uint32_t module_noted(const ElfW(Phdr) *segment, const char *base)
{
    const char *at = base + segment->p_vaddr, *end = at + segment->p_memsz;
    while (at + sizeof(ElfW(Nhdr)) <= end) {
        const ElfW(Nhdr) *note = (const void *)at;
        const char *name = at + sizeof *note;
        const uint8_t *content = (const uint8_t *)name + ((note->n_namesz + 3) & ~3U);
        if (note->n_type == NT_GNU_BUILD_ID && note->n_namesz == 4 && memcmp(name, "GNU", 4) == 0)
            for (uint32_t module = 0; module < SITE_MODULES; module++)
                if (is_build_id(hs_module[module], content, note->n_descsz))
                    return module;
        at = (const char *)content + ((note->n_descsz + 3) & ~3U);
    }
    return SITE_MODULES;
}

static unsigned group_at(uint32_t module, uint64_t offset)
{
    for (size_t index = 0; index < SITE_COUNT; index++)
        if (hs_site[index].module == module && hs_site[index].offset == offset)
            return hs_site[index].group;
    return 0;
}

/* The group of a byte of code, by the program headers of its file, which lie in the file's first page. */
static unsigned group_in(const struct dl_find_object *file, uintptr_t code)
{
    const ElfW(Ehdr) *head = file->dlfo_map_start;
    if (memcmp(head->e_ident, ELFMAG, SELFMAG) != 0 || head->e_phoff + head->e_phnum * sizeof(ElfW(Phdr)) > LEAST_PAGE_BYTES)
        return 0;
    const ElfW(Phdr) *segment = (const void *)((const char *)head + head->e_phoff);
    uintptr_t base = file->dlfo_link_map->l_addr;
    uint32_t module = SITE_MODULES;
    uint64_t offset = 0;
    for (size_t index = 0; index < head->e_phnum; index++) {
        if (segment[index].p_type == PT_NOTE && module == SITE_MODULES)
            module = module_noted(&segment[index], (const char *)base);
        else if (segment[index].p_type == PT_LOAD && code - base - segment[index].p_vaddr < segment[index].p_filesz)
            offset = code - base - segment[index].p_vaddr + segment[index].p_offset;
    }
    return module == SITE_MODULES ? 0 : group_at(module, offset);
}

/* The newest is first of the two words, so that the one that waits longest gives way. */
static void remember_group(uintptr_t address, unsigned group)
{
    uintptr_t *word = seen_of(address);
    __atomic_store_n(neighbour(word), __atomic_load_n(word, __ATOMIC_RELAXED), __ATOMIC_RELAXED);
    __atomic_store_n(word, address << GROUP_BITS | group, __ATOMIC_RELAXED);
}

static __attribute__((noinline, cold)) unsigned find_group(uintptr_t address)
{
    struct dl_find_object file;
    uintptr_t code = address - 1; /* of the call, which may be its function's last instruction */
    unsigned group = _dl_find_object((void *)code, &file) == 0 ? group_in(&file, code) : 0;
    remember_group(address, group);
    return group;
}

static unsigned group_of(const void *caller)
{
    uintptr_t address = (uintptr_t)caller;
    uintptr_t *first = seen_of(address);
    uintptr_t word = __atomic_load_n(first, __ATOMIC_RELAXED);
    if (word >> GROUP_BITS != address)
        word = __atomic_load_n(neighbour(first), __ATOMIC_RELAXED);
    return word >> GROUP_BITS == address ? word & ((1 << GROUP_BITS) - 1) : find_group(address);
}

size_t hs_row_of_call(unsigned class, const void *caller)
{
    size_t row = hs_row_of_size(class);
    return row != 0 ? row : 1 + (size_t)hs_group_class[group_of(caller)][class];
}

/* For who performs events in one order: calls that return there are of this group, whatever file they are in. */
__attribute__((visibility("default"))) void heapsmith_site(const void *caller, unsigned group);
void heapsmith_site(const void *caller, unsigned group)
{
    remember_group((uintptr_t)caller, group);
}
