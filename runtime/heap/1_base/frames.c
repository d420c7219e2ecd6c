/* One call outwards (frames.h): the file's index has the function's entry, whose program tells how to find the caller's registers
 * (Linux Standard Base Core 5.0, 10.6; DWARF 5, 6.4.2). That is long in large functions, so what it told is remembered. */
#include "1_base/frames.h"

#include "1_base/arch/arch.h"
#include "1_base/cold.h"

#include <stddef.h>
#include <string.h>

#ifndef HEAPSMITH_ARCHIVE /* which leaves all to libgcc */

/* What glibc's dlfcn.h has since 2.35, and unwind.c with another C library. */
struct found_file {
    unsigned long long flags;
    void *start, *end, *object, *frames;
    unsigned long long reserved[7];
};
extern int frame_find(void *code, struct found_file *found) __asm__("_dl_find_object") __attribute__((weak));

enum {
    INDEX_RELATIVE_32 = 0x1b, INDEX_SORTED_32 = 0x3b, INDEX_PLAIN_32 = 0x03, /* how pointers are written: those that linkers write */
    INDEX_HEAD = 12,
    PART_4 = 0x03, PART_8 = 0x04, PART_BYTES = 7,
    CFA_KEPT = 8,
    CFA_NO_REGISTER = 0xff,
};

enum where { AS_BEFORE, ON_STACK, NOWHERE_SAVED, ELSEWHERE };

/* Where the caller's value of a register is: on the stack, so far from the frame's end. */
struct saved {
    enum where where;
    int64_t at;
};

/* The frame's end is so far from a register's value. */
struct rules {
    uint64_t from;
    int64_t end;
    struct saved base, place;
};

struct program {
    const uint8_t *at, *end;
    uintptr_t reached; /* the rules are those from this address on */
    struct rules now, first, kept[CFA_KEPT];
    unsigned kept_count;
    uint64_t code_step;
    int64_t data_step;
};

static uint32_t frame_word(const uint8_t *at)
{
    uint32_t word;
    memcpy(&word, at, sizeof word);
    return word;
}

static const uint8_t *frame_relative(const uint8_t *at)
{
    return at + (int32_t)frame_word(at);
}

/* LEB128. */
static COLD uint64_t leb(const uint8_t **at)
{
    uint64_t found = 0;
    unsigned shift = 0;
    uint8_t byte;
    do {
        byte = *(*at)++;
        found |= shift < 64 ? (uint64_t)(byte & 0x7f) << shift : 0;
        shift += 7;
    } while (byte & 0x80);
    return found;
}

static COLD int64_t signed_leb(const uint8_t **at)
{
    const uint8_t *from = *at;
    const uint64_t found = leb(at);
    const unsigned bits = 7 * (unsigned)(*at - from);
    return bits < 64 && (*at)[-1] & 0x40 ? (int64_t)(found | ~(uint64_t)0 << bits) : (int64_t)found;
}

static struct saved *rule_of(struct rules *rules, uint64_t which)
{
    return which == ARCH_FRAME_BASE ? &rules->base : which == ARCH_FRAME_RETURN ? &rules->place : NULL;
}

static void rule_is(struct program *program, uint64_t which, enum where where, int64_t at)
{
    struct saved *rule = rule_of(&program->now, which);
    if (rule != NULL)
        *rule = (struct saved){ where, at };
}

static void rule_is_as_first(struct program *program, uint64_t which)
{
    struct saved *rule = rule_of(&program->now, which);
    if (rule != NULL)
        *rule = *rule_of(&program->first, which);
}

static void cfa_skip(struct program *program)
{
    const uint64_t bytes = leb(&program->at);
    program->at += bytes;
}

static bool cfa_keep(struct program *program, bool again)
{
    if (again ? program->kept_count == 0 : program->kept_count == CFA_KEPT)
        return false;
    if (again)
        program->now = program->kept[--program->kept_count];
    else
        program->kept[program->kept_count++] = program->now;
    return true;
}

static void cfa_advance(struct program *program, unsigned bytes)
{
    uint32_t steps = 0;
    memcpy(&steps, program->at, bytes); /* little-endian */
    program->at += bytes;
    program->reached += steps * program->code_step;
}

/* Instructions 0x00 to 0x0b. False: not known. */
static COLD bool cfa_run_of_registers(struct program *program, unsigned what)
{
    const bool has_register = what >= 5 && what <= 9;
    const uint64_t which = has_register ? leb(&program->at) : 0;
    switch (what) {
    case 0x00: /* DW_CFA_nop */
        return true;
    case 0x02: /* DW_CFA_advance_loc1, 2, 4 */
    case 0x03:
    case 0x04:
        cfa_advance(program, 1u << (what - 2));
        return true;
    case 0x05: /* DW_CFA_offset_extended */
        rule_is(program, which, ON_STACK, (int64_t)leb(&program->at) * program->data_step);
        return true;
    case 0x06: /* DW_CFA_restore_extended */
        rule_is_as_first(program, which);
        return true;
    case 0x07: /* DW_CFA_undefined */
        rule_is(program, which, NOWHERE_SAVED, 0);
        return true;
    case 0x08: /* DW_CFA_same_value */
        rule_is(program, which, AS_BEFORE, 0);
        return true;
    case 0x09: /* DW_CFA_register */
        leb(&program->at);
        rule_is(program, which, ELSEWHERE, 0);
        return true;
    case 0x0a: /* DW_CFA_remember_state, DW_CFA_restore_state */
    case 0x0b:
        return cfa_keep(program, what == 0x0b);
    default:
        return false;
    }
}

/* Instructions from 0x0c on. False: not known. */
static COLD bool cfa_run_of_end(struct program *program, unsigned what)
{
    const uint64_t first = what != 0x0f ? leb(&program->at) : 0; /* nearly all have one */
    switch (what) {
    case 0x0c: /* DW_CFA_def_cfa */
        program->now.from = first;
        program->now.end = (int64_t)leb(&program->at);
        return true;
    case 0x0d: /* DW_CFA_def_cfa_register */
        program->now.from = first;
        return true;
    case 0x0e: /* DW_CFA_def_cfa_offset */
        program->now.end = (int64_t)first;
        return true;
    case 0x0f: /* DW_CFA_def_cfa_expression */
        program->now.from = CFA_NO_REGISTER;
        cfa_skip(program);
        return true;
    case 0x10: /* DW_CFA_expression, DW_CFA_val_expression */
    case 0x16:
        rule_is(program, first, ELSEWHERE, 0);
        cfa_skip(program);
        return true;
    case 0x2e: /* DW_CFA_GNU_args_size */
        return true;
    default:
        return false;
    }
}

/* One instruction. False: not known. */
static COLD bool cfa_run(struct program *program)
{
    const uint8_t what = *program->at++, operand = what & 0x3f;
    switch (what >> 6) {
    case 1: /* DW_CFA_advance_loc */
        program->reached += operand * program->code_step;
        return true;
    case 2: /* DW_CFA_offset */
        rule_is(program, operand, ON_STACK, (int64_t)leb(&program->at) * program->data_step);
        return true;
    case 3: /* DW_CFA_restore */
        rule_is_as_first(program, operand);
        return true;
    default:
        return operand < 0x0c ? cfa_run_of_registers(program, operand) : cfa_run_of_end(program, operand);
    }
}

/* The entry of the last function that begins at `place` or before; NULL: the index is of another kind, or has none. */
static COLD const uint8_t *frame_entry(const uint8_t *index, uintptr_t place)
{
    if (index[0] != 1 || index[1] != INDEX_RELATIVE_32 || index[2] != INDEX_PLAIN_32 || index[3] != INDEX_SORTED_32)
        return NULL;
    const uint8_t *rows = index + INDEX_HEAD;
    size_t low = 0, high = frame_word(index + 8);
    while (low < high) { /* the rows before `low` begin before, those from `high` on behind */
        const size_t middle = low + (high - low) / 2;
        if ((uintptr_t)(index + (int32_t)frame_word(rows + 8 * middle)) <= place)
            low = middle + 1;
        else
            high = middle;
    }
    return low > 0 ? index + (int32_t)frame_word(rows + 8 * low - 4) : NULL;
}

/* The letters that say what the entries of a file hold: `R` how they write their addresses. False: not known. */
static COLD bool cfa_letters(const char *letter, const uint8_t *data)
{
    bool is_written = false;
    for (; *letter != '\0'; letter++) {
        const uint8_t written = *data++;
        if (*letter == 'P') /* a function for exceptions */
            data += (written & PART_BYTES) == PART_4 ? 4 : (written & PART_BYTES) == PART_8 || (written & PART_BYTES) == 0 ? 8 : 0;
        else if (*letter == 'R')
            is_written = written == INDEX_RELATIVE_32;
        else if (*letter != 'L')
            return false;
    }
    return is_written;
}

/* The part that entries share. False: not known. */
static COLD bool cfa_begin(struct program *program, const uint8_t *common)
{
    const uint32_t bytes = frame_word(common);
    const char *letters = (const char *)common + 9;
    if (bytes == UINT32_MAX || (common[8] != 1 && common[8] != 3) || *letters != 'z')
        return false;
    program->at = common + 9 + strlen(letters) + 1;
    program->code_step = leb(&program->at);
    program->data_step = signed_leb(&program->at);
    const uint64_t place = common[8] == 1 ? *program->at++ : leb(&program->at); /* gas writes version 3 for RISC-V */
    const uint64_t length = leb(&program->at);
    const uint8_t *data = program->at;
    program->at += length;
    program->end = common + 4 + bytes;
    return place == ARCH_FRAME_RETURN && cfa_letters(letters + 1, data);
}

/* The rules at an address. False: not known. */
static COLD bool frame_rules(struct program *program, const uint8_t *entry, uintptr_t place)
{
    const uint32_t bytes = frame_word(entry);
    program->now = (struct rules){ .from = CFA_NO_REGISTER, .place = { .where = ELSEWHERE } };
    program->first = program->now;
    program->kept_count = 0;
    program->reached = 0;
    if (bytes == UINT32_MAX || !cfa_begin(program, entry + 4 - frame_word(entry + 4)))
        return false;
    while (program->at < program->end)
        if (!cfa_run(program))
            return false;
    program->first = program->now;
    program->reached = (uintptr_t)frame_relative(entry + 8);
    if (place - program->reached >= frame_word(entry + 12))
        return false;
    program->at = entry + 16;
    const uint64_t data = leb(&program->at);
    program->at += data;
    program->end = entry + 4 + bytes;
    while (program->at < program->end && program->reached <= place)
        if (!cfa_run(program))
            return false;
    return true;
}

bool hs_frames_of(struct frames_of_file *file, uintptr_t place)
{
    if (place >= file->start && place < file->end)
        return true;
    struct found_file found;
    if (frame_find == NULL || frame_find((void *)place, &found) != 0 || found.frames == NULL)
        return false;
    *file = (struct frames_of_file){ (uintptr_t)found.start, (uintptr_t)found.end, found.frames };
    return true;
}

/* What was told of a place, in words of 8 bytes: the frame's end is so far from the top or the base, the caller's place and base so
 * far from the end. */
enum {
    TOLD = 1, TOLD_NOT_KNOWN = 2, TOLD_OUTERMOST = 4, TOLD_FROM_BASE = 8, TOLD_BASE_SAVED = 16, TOLD_BASE_LOST = 32,
    TOLD_END = 8, TOLD_END_BITS = 24, TOLD_BASE = 32, TOLD_PLACE = 48,
    TOLD_ROOM = 512, TOLD_ROOM_SHIFT = 64 - 9,
};

static bool frame_short(int64_t at)
{
    return at % 8 == 0 && at / 8 == (int16_t)(at / 8);
}

static COLD uint64_t told_of(const struct rules *rules)
{
    const bool from_base = rules->from == ARCH_FRAME_BASE;
    const bool saved = rules->base.where == ON_STACK, lost = rules->base.where == ELSEWHERE || rules->base.where == NOWHERE_SAVED;
    if (rules->place.where == NOWHERE_SAVED)
        return TOLD | TOLD_OUTERMOST;
    if (rules->place.where != ON_STACK || (!from_base && rules->from != ARCH_FRAME_TOP) || rules->end % 8 != 0 ||
        (uint64_t)rules->end / 8 >> TOLD_END_BITS != 0 || !frame_short(rules->place.at) || !frame_short(rules->base.at))
        return TOLD | TOLD_NOT_KNOWN;
    return TOLD | (from_base ? TOLD_FROM_BASE : 0) | (saved ? TOLD_BASE_SAVED : 0) | (lost ? TOLD_BASE_LOST : 0) |
           (uint64_t)rules->end / 8 << TOLD_END | (uint64_t)(uint16_t)(rules->base.at / 8) << TOLD_BASE |
           (uint64_t)(uint16_t)(rules->place.at / 8) << TOLD_PLACE;
}

static COLD APART uint64_t frame_told(const uint8_t *index, uintptr_t place)
{
    struct program program; /* what is kept is long, and mostly not used */
    const uint8_t *entry = frame_entry(index, place);
    return entry != NULL && frame_rules(&program, entry, place) ? told_of(&program.now) : TOLD | TOLD_NOT_KNOWN;
}

/* Any thread writes here, and a signal's handler, both words apart: they belong together if one tells the other. What another file
 * had at a place does not count: its index lay elsewhere, or it was unmapped before the generation was raised. */
COLD_DATA static struct {
    uint64_t mark, told;
} remembered[TOLD_ROOM];
uint64_t hs_frames_generation;

static uint64_t frame_known(const uint8_t *index, uintptr_t place)
{
    const uint64_t generation = __atomic_load_n(&hs_frames_generation, __ATOMIC_RELAXED);
    const uint64_t key = place * 0x9e3779b97f4a7c15 ^ (uintptr_t)index * 0xc2b2ae3d27d4eb4f ^ generation * 0xd6e8feb86659fd93;
    uint64_t *mark = &remembered[key >> TOLD_ROOM_SHIFT].mark, *at = &remembered[key >> TOLD_ROOM_SHIFT].told;
    uint64_t told = __atomic_load_n(at, __ATOMIC_RELAXED);
    if (told != 0 && (__atomic_load_n(mark, __ATOMIC_RELAXED) ^ told) == key)
        return told;
    told = frame_told(index, place);
    __atomic_store_n(mark, key ^ told, __ATOMIC_RELAXED);
    __atomic_store_n(at, told, __ATOMIC_RELAXED);
    return told;
}

static uintptr_t frame_value(uintptr_t end, uint64_t told, unsigned shift)
{
    return ((const uintptr_t *)end)[(int16_t)(told >> shift)];
}

enum outwards hs_call_outwards(struct called *call, struct frames_of_file *file)
{
    const uintptr_t place = call->place - 1; /* in the instruction that calls */
    const uint64_t told = hs_frames_of(file, place) ? frame_known(file->index, place) : TOLD_NOT_KNOWN;
    if (told & TOLD_OUTERMOST)
        return OUTERMOST;
    if (told & TOLD_NOT_KNOWN || (told & TOLD_FROM_BASE && !call->has_base))
        return NOT_KNOWN;
    const uintptr_t end = (told & TOLD_FROM_BASE ? call->base : call->top) + (told >> TOLD_END & ((1u << TOLD_END_BITS) - 1)) * 8;
    if (end <= call->top)
        return NOT_KNOWN;
    call->place = frame_value(end, told, TOLD_PLACE);
    if (told & TOLD_BASE_SAVED)
        call->base = frame_value(end, told, TOLD_BASE);
    call->has_base = !(told & TOLD_BASE_LOST) && (call->has_base || told & TOLD_BASE_SAVED);
    call->top = end;
    return CALLED_FROM;
}

#endif
