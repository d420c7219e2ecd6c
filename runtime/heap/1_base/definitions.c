/* Definitions (definitions.h): the list of loaded objects that the dynamic linker keeps for debuggers, and the symbol tables
 * of each object, as the System V ABI and the GNU extensions lay them out.
 *
 * The list changes while a thread is in dlopen(3) or dlclose(3), and nothing here waits for that. Objects that came with the
 * program lie first and are never unloaded. A new one is appended when it is whole. So a search is safe that ends in the
 * objects of the start, as each does that looks for what the C library has. Where the C library lacks it, search before the
 * program has a second thread, or where the program ends otherwise (operator new without memory). */
#define _GNU_SOURCE
#include "1_base/definitions.h"

#include <elf.h>
#include <link.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>

enum { HIDDEN_VERSION = 0x8000, FILTER_BITS = 64 };

/* Neither exists in a static program: there is nothing to search then. */
extern struct r_debug _r_debug __attribute__((weak, visibility("default")));        /* glibc's */
extern struct r_debug *_dl_debug_addr __attribute__((weak, visibility("default"))); /* musl's */
extern ElfW(Dyn) _DYNAMIC[] __attribute__((weak, visibility("hidden")));

/* What one object's dynamic section says. */
struct symbols {
    const ElfW(Sym) *entry;
    const char *names;
    const ElfW(Versym) *version; /* NULL: its symbols have no versions */
    const uint32_t *gnu_hash, *hash;
};

/* One search in one object. A hidden version is what old programs are bound to: taken if there is no other. */
struct search {
    struct symbols in;
    const char *name;
    const ElfW(Sym) *found;
};

/* The GNU C library adds the load address in place, unless the section is read-only, as the vDSO's. */
static const void *in_memory(const struct link_map *object, ElfW(Addr) address)
{
    return (const void *)(address < object->l_addr ? object->l_addr + address : address);
}

static struct symbols symbols_of(const struct link_map *object)
{
    struct symbols symbols = { 0 };
    for (const ElfW(Dyn) *entry = object->l_ld; entry != NULL && entry->d_tag != DT_NULL; entry++) {
        const void *at = in_memory(object, entry->d_un.d_ptr);
        switch (entry->d_tag) {
        case DT_SYMTAB:
            symbols.entry = at;
            break;
        case DT_STRTAB:
            symbols.names = at;
            break;
        case DT_VERSYM:
            symbols.version = at;
            break;
        case DT_GNU_HASH:
            symbols.gnu_hash = at;
            break;
        case DT_HASH:
            symbols.hash = at;
            break;
        }
    }
    return symbols;
}

static bool is_function(const ElfW(Sym) *symbol)
{
    unsigned type = ELF64_ST_TYPE(symbol->st_info), sight = ELF64_ST_VISIBILITY(symbol->st_other);
    bool is_code = type == STT_FUNC || type == STT_GNU_IFUNC || type == STT_NOTYPE;
    bool is_seen = ELF64_ST_BIND(symbol->st_info) != STB_LOCAL && (sight == STV_DEFAULT || sight == STV_PROTECTED);
    return is_code && is_seen && symbol->st_shndx != SHN_UNDEF && symbol->st_value != 0;
}

/* Looks at one symbol whose hash is right; true if the search is over. */
static bool take_symbol(struct search *search, uint32_t index)
{
    const struct symbols *in = &search->in;
    const ElfW(Sym) *symbol = &in->entry[index];
    if (!is_function(symbol) || strcmp(in->names + symbol->st_name, search->name) != 0)
        return false;
    bool is_hidden = in->version != NULL && (in->version[index] & HIDDEN_VERSION) != 0;
    if (search->found == NULL || !is_hidden)
        search->found = symbol;
    return !is_hidden;
}

/* Table: buckets, first symbol, words of the Bloom filter, its shift; the filter; the buckets; a hash for each symbol from the
 * first one on, whose lowest bit ends a bucket. */
static void search_gnu(struct search *search)
{
    const uint32_t *table = search->in.gnu_hash;
    const uint32_t buckets = table[0], first = table[1], words = table[2], shift = table[3];
    const uint64_t *filter = (const uint64_t *)(table + 4);
    const uint32_t *bucket = (const uint32_t *)(filter + words), *chain = bucket + buckets;
    uint32_t hash = 5381;
    for (const char *byte = search->name; *byte != '\0'; byte++)
        hash = 33 * hash + (unsigned char)*byte;
    uint64_t word = words > 0 ? filter[hash / FILTER_BITS % words] : 0;
    if (buckets == 0 || (word >> hash % FILTER_BITS & word >> (hash >> shift) % FILTER_BITS & 1) == 0)
        return;
    for (uint32_t index = bucket[hash % buckets]; index >= first && index != 0; index++) {
        uint32_t other = chain[index - first];
        if (((other ^ hash) >> 1 == 0 && take_symbol(search, index)) || (other & 1) != 0)
            return;
    }
}

/* Table: buckets, symbols; the buckets; for each symbol the next one of its bucket. */
static void search_plain(struct search *search)
{
    const uint32_t *table = search->in.hash, *bucket = table + 2, *chain = bucket + table[0];
    uint32_t hash = 0;
    for (const char *byte = search->name; *byte != '\0'; byte++) {
        hash = (hash << 4) + (unsigned char)*byte;
        hash = (hash ^ (hash >> 28 << 4)) & 0xfffffff;
    }
    if (table[0] == 0)
        return;
    for (uint32_t index = bucket[hash % table[0]]; index != STN_UNDEF; index = chain[index])
        if (take_symbol(search, index))
            return;
}

/* NULL: there is none. */
static const ElfW(Sym) *symbol_in(const struct link_map *object, const char *name)
{
    struct search search = { .in = symbols_of(object), .name = name };
    if (search.in.entry == NULL || search.in.names == NULL)
        return NULL;
    if (search.in.gnu_hash != NULL)
        search_gnu(&search);
    else if (search.in.hash != NULL)
        search_plain(&search);
    return search.found;
}

static struct definition in_object(const struct link_map *object, const char *name)
{
    const ElfW(Sym) *symbol = symbol_in(object, name);
    if (symbol == NULL)
        return (struct definition){ 0 };
    void *address = (void *)(object->l_addr + symbol->st_value);
    if (ELF64_ST_TYPE(symbol->st_info) == STT_GNU_IFUNC)
        address = ((void *(*)(void))address)();
    return (struct definition){ address, object, symbol->st_size };
}

/* From one object on to another, which is not looked at; NULL: to the end. */
static struct definition between(const struct link_map *object, const struct link_map *end, const char *name)
{
    struct definition found = { 0 };
    for (; object != end && found.function == NULL; object = object->l_next)
        found = in_object(object, name);
    return found;
}

static const struct link_map *first_object(void)
{
    if (&_r_debug != NULL)
        return _r_debug.r_map;
    return &_dl_debug_addr != NULL ? _dl_debug_addr->r_map : NULL;
}

/* Behind a library that dlopen(3) brought there is no C library: what such a library looks for is before it. */
struct definition definition_next(const char *name)
{
    static const char c_library[] = "__libc_start_main"; /* an array: texts lie with what few read (apart.ld) */
    const struct link_map *own = first_object();
    while (own != NULL && own->l_ld != _DYNAMIC)
        own = own->l_next;
    if (own == NULL)
        return (struct definition){ 0 };
    struct definition found = between(own->l_next, NULL, name);
    bool is_opened = found.function == NULL && between(own->l_next, NULL, c_library).function == NULL;
    return is_opened ? between(first_object(), own, name) : found;
}

struct definition definition_first(const char *name)
{
    return between(first_object(), NULL, name);
}

/* Is the place in a segment that is for reading alone? Its page has no code then, nor data. The headers lie where an object of
 * the system begins. */
static bool is_read_only(const struct link_map *object, const void *place)
{
    const ElfW(Ehdr) *head = (const void *)object->l_addr;
    const ElfW(Phdr) *segment = (const void *)(object->l_addr + head->e_phoff);
    uintptr_t offset = (uintptr_t)place - object->l_addr;
    for (size_t index = 0; index < head->e_phnum; index++, segment++)
        if (segment->p_type == PT_LOAD && offset - segment->p_vaddr < segment->p_filesz)
            return segment->p_flags == PF_R;
    return false;
}

bool definition_replace(const struct link_map *object, const char *name, const void *function)
{
    const size_t system_page = getauxval(AT_PAGESZ);
    ElfW(Sym) *symbol = (ElfW(Sym) *)symbol_in(object, name);
    if (symbol == NULL || ELF64_ST_TYPE(symbol->st_info) != STT_FUNC || !is_read_only(object, symbol))
        return false;
    char *page = (char *)&symbol->st_value - (uintptr_t)&symbol->st_value % system_page;
    if (mprotect(page, system_page, PROT_READ | PROT_WRITE) != 0)
        return false;
    __atomic_store_n(&symbol->st_value, (uintptr_t)function - object->l_addr, __ATOMIC_RELAXED);
    mprotect(page, system_page, PROT_READ);
    return true;
}
