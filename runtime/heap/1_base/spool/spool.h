/* The spool: what one process image leaves behind, one file `<pid>.<sequence>.spool`, read by tools/record/spool.py.
 *
 * The file is an array of 64 KiB units. Unit 0 begins with the header page. Every other unit whose magic is right is a
 * window, of one of two kinds:
 *   live    its `home` is its own place in the file: a thread maps it and writes its records there
 *   copied  any other `home`: the content of a live window when it was full
 * A stream is what one thread wrote, and after that thread's end perhaps another one: the copies of its one live window
 * by ascending ordinal, then the live window - unless a copy has the same ordinal (the process was killed between
 * copying and clearing). Stamps ascend within a stream. Units without the magic (killed while copying) hold nothing.
 *
 * A record is two words, or four if SPOOL_LONG is set:
 *   word 0   stamp << 6 | flags | operation; never 0, and stored last: what follows the last record is 0
 *   word 1   size (low 16 bits) << 48 | address (low 48 bits); for THREAD_START the thread's number; of a sample:
 *            TOUCHED pages << 32 | touched pages, RESIDENT the process's pages, PROCESSOR the thread's ns; of
 *            MOVED the processor of the stream's records from the next one on
 *   word 2   size, all of it (replaces that of word 1)
 *   word 3   site << 32 | address >> 48, << 8 | log2 of the alignment
 * A record with SPOOL_BRIEF has the stamp of the record before it, and one word, or two with SPOOL_LONG:
 *   word 0   size << 50 | address / 16 << 6 | flags | operation
 *   word 1   site
 * The site is the number of a stack, 0 if there is none. The stream STACK_STREAM holds no such records but stacks and the
 * executable mappings that their addresses lie in, as they were when the stack was new:
 *   SPOOL_FRAMES     word 0: number << 32 | frames << 8 | 1; then a word per frame, innermost first: its return address,
 *                    or 1 more than the address of an instruction that a signal interrupted
 *   SPOOL_MAPPING    word 0: words << 8 | 2; then start, end, offset in the file, and the path, ended by a 0 byte
 *   SPOOL_PYTHON     word 0: number << 32 | words << 8 | 3; then the line, and the file and the function in UTF-8, each ended by
 *                    a 0 byte: a place in Python code, which frames name by SPOOL_PLACES + number
 * All words are little-endian. A record never crosses from one unit into the next. */
#pragma once

#include <stdint.h>

enum spool_operation {
    SPOOL_END = 0,
    SPOOL_MALLOC = 1,
    SPOOL_CALLOC = 2,
    SPOOL_ALIGNED = 3,
    SPOOL_FREE = 4,
    SPOOL_FREE_SIZED = 5,
    SPOOL_REALLOC_FROM = 6, /* stamped before the call: the old address */
    SPOOL_REALLOC_TO = 7,   /* stamped after the call: the new address (0: it failed, or freed the block) and size */
    SPOOL_THREAD_START = 8,
    SPOOL_THREAD_EXIT = 9, /* the thread announces its end; a few records of it may follow */
    SPOOL_TOUCHED = 10,    /* this and the next two are samples: of a large block that is about to die or to be resized */
    SPOOL_RESIDENT = 11,
    SPOOL_PROCESSOR = 12,
    SPOOL_MOVED = 13, /* the thread runs on another processor than at the stream's record before, or begins */
};

enum {
    SPOOL_LONG = 16,
    SPOOL_BRIEF = 32,
    SPOOL_STAMP_SHIFT = 6,
    SPOOL_BRIEF_SIZE_BITS = 14,
    SPOOL_BRIEF_ADDRESS_BITS = 44,
    SPOOL_ADDRESS_BITS = 48,
    SPOOL_SITE_SHIFT = 32,
    SPOOL_SLOT_WORDS = 2,
    SPOOL_VERSION = 5,
    SPOOL_UNIT_BYTES = 64 * 1024,
    SPOOL_HEADER_BYTES = 4096,
    SPOOL_ARGV_BYTES = SPOOL_HEADER_BYTES - 80,
    WINDOW_SLOTS = SPOOL_UNIT_BYTES / 16 - 3,
};

enum stack_record { SPOOL_FRAMES = 1, SPOOL_MAPPING = 2, SPOOL_PYTHON = 3 };
static const uint32_t STACK_STREAM = UINT32_MAX;
static const uint64_t SPOOL_PLACES = UINT64_C(1) << 52; /* above all addresses of code */

static const uint64_t spool_magic = UINT64_C(0x314c4f4f50535348);  /* "HSSPOOL1" */
static const uint64_t window_magic = UINT64_C(0x574f444e49575348); /* "HSWINDOW" */

struct spool_header {
    uint64_t magic; /* stored last */
    uint32_t version;
    uint32_t pid;
    uint32_t parent_pid;
    uint32_t sequence;    /* tells the images of one pid apart: exec, or a pid used again */
    uint32_t forked;      /* 1: began by fork and inherits its parent's blocks; 0: began by exec */
    uint32_t argv_length; /* of `argv`: the arguments, each ended by a 0 byte */
    uint64_t start_stamp; /* at the image's start; gives the bits a record's stamp lacks */
    uint64_t drops;       /* events not recorded because the spool could not grow */
    uint64_t nested;      /* calls made while another call of the same thread was under way: not recorded */
    uint64_t spool_ticks; /* time spent in starting streams and copying windows */
    uint64_t checked;     /* sites that were found and unwound as well */
    uint64_t wrong;       /* of these, where unwinding found another stack */
    char argv[SPOOL_ARGV_BYTES];
};
_Static_assert(sizeof(struct spool_header) == SPOOL_HEADER_BYTES, "the header is one page");

/* One unit: records, and at its end what tells that all before it has been written. */
struct window {
    uint64_t slots[WINDOW_SLOTS][SPOOL_SLOT_WORDS];
    uint64_t ordinal; /* within the stream: 0, 1, 2, ... */
    uint32_t stream;
    uint32_t home; /* the live window's place in the file, in units */
    uint64_t reserved[3];
    uint64_t magic;
};
_Static_assert(sizeof(struct window) == SPOOL_UNIT_BYTES, "a window is one unit");

static inline uint32_t record_words(uint64_t word)
{
    return (word & SPOOL_BRIEF ? 1u : 2u) << ((word & SPOOL_LONG) != 0);
}

static inline uint64_t *window_end(struct window *window)
{
    return (uint64_t *)(window->slots + WINDOW_SLOTS);
}
