/* What `heapsmith top` reads of a running process from outside, and `heapsmith core` of a core file: where counters and
 * structures lie, and their layouts, by name.
 *
 * The program never reads it. A note of the library's file leads to it, which every linker keeps and stripping leaves: type 1,
 * name "heapsmith", and the distance from the note's own content to the table. A name may be added; one whose meaning changes
 * gets another type of note. */
#include "1_base/counting/counting.h"
#include "3_records/heap.h"
#include "4_blocks/freed_blocks/freed_blocks.h"
#include "6_slabs/slabs.h"
#include "6_slabs/transfer/transfer.h"
#include "7_large/huge.h"
#include "7_large/huge_cache/huge_cache.h"
#include "7_large/run_cache/run_cache.h"
#include "7_large/run_pages.h"
#include "8_threads/thread.h"
#include SAMPLING_API
#include SAMPLING_GUARDS
#include SAMPLING_RECORD

enum { NAME_BYTES = 24 };

struct view_entry {
    char name[NAME_BYTES];
    uint64_t value;
};

#define FIELD(type, field) NUMBER(#type "." #field, offsetof(struct type, field))

#if PAGES_VARY
#define PAGE_VIEW ADDRESS("page_shift", hs_page_shift)
#else
#define PAGE_VIEW NUMBER("PAGE_BYTES", PAGE_BYTES)
#endif

#define ENTRIES                                                                                                 \
    ADDRESS("design", hs_design)                                                                                \
    ADDRESS("heap_counts", hs_count)                                                                            \
    ADDRESS("heap_counters", hs_heap_counter)                                                                   \
    NUMBER("HEAP_COUNTERS", HEAP_COUNTERS)                                                                      \
    ADDRESS("class_counters", hs_class_counter)                                                                 \
    NUMBER("CLASS_COUNTERS", CLASS_COUNTERS)                                                                    \
    NUMBER("COUNTS_HITS", COUNTS_HITS)                                                                          \
    COUNTING_VIEW                                                                                               \
    LOCKS_VIEW                                                                                                  \
    ADDRESS("classes", hs_class)                                                                                \
    NUMBER("CLASS_COUNT", CLASS_COUNT)                                                                          \
    NUMBER("class_plan", sizeof(struct class_plan))                                                             \
    FIELD(class_plan, usable)                                                                                   \
    FIELD(class_plan, stride)                                                                                   \
    FIELD(class_plan, slot)                                                                                     \
    FIELD(class_plan, first)                                                                                    \
    FIELD(class_plan, blocks)                                                                                   \
    FIELD(class_plan, flush)                                                                                    \
    NUMBER("class_plan.transfer_at", offsetof(struct class_plan, transfer_slot))                                \
    ADDRESS("no_heap", hs_no_heap)                                                                              \
    ADDRESS("newest_heap", hs_newest_heap)                                                                      \
    ADDRESS("abandoned", hs_abandoned)                                                                          \
    NUMBER("heap", sizeof(struct heap))                                                                         \
    NUMBER("heap_bytes", HEAP_RECORD_BYTES)                                                                     \
    FIELD(heap, top)                                                                                            \
    FIELD(heap, front)                                                                                          \
    FIELD(heap, next)                                                                                           \
    FIELD(heap, earlier)                                                                                        \
    FIELD(heap, count)                                                                                          \
    FIELD(heap, quarantine)                                                                                     \
    FIELD(heap, slot)                                                                                           \
    OPENING_VIEW                                                                                                \
    PARKED_VIEW                                                                                                 \
    RUN_CACHE_VIEW                                                                                              \
    NUMBER("FRONT_RECORDS", FRONT_RECORDS)                                                                      \
    NUMBER("front", sizeof(struct front))                                                                       \
    FIELD(front, held)                                                                                          \
    FIELD(front, listed)                                                                                        \
    FIELD(quarantine, held)                                                                                     \
    FIELD(quarantine, oldest)                                                                                   \
    FIELD(quarantine, block)                                                                                    \
    NUMBER("QUARANTINE_SLOTS", QUARANTINE_SLOTS)                                                                \
    ADDRESS("span", hs_span)                                                                                    \
    ADDRESS("records", hs_slabs)                                                                                \
    NUMBER("HEAD_BYTES", HEAD_BYTES)                                                                            \
    NUMBER("SLAB_BYTES", SLAB_BYTES)                                                                            \
    NUMBER("SUPERSLAB_BYTES", SUPERSLAB_BYTES)                                                                  \
    ADDRESS("last_slab", hs_last_slab)                                                                          \
    NUMBER("slab", sizeof(struct slab))                                                                         \
    NUMBER("slab_bytes", SLAB_RECORD_BYTES)                                                                     \
    FIELD(slab, out)                                                                                            \
    FIELD(slab, carved)                                                                                         \
    FIELD(slab, freed)                                                                                          \
    FIELD(slab, committed)                                                                                      \
    FIELD(slab, earlier)                                                                                        \
    FIELD(slab, class)                                                                                          \
    FIELD(slab, pooled)                                                                                         \
    FREED_VIEW                                                                                                  \
    TRANSFER_VIEW                                                                                               \
    ADDRESS("huge_committed", hs_huge_committed)                                                                \
    ADDRESS("huge_table", hs_huge_table)                                                                        \
    NUMBER("huge", sizeof(struct huge))                                                                         \
    FIELD(huge, start)                                                                                          \
    FIELD(huge, pages)                                                                                          \
    ADDRESS("runs", hs_runs)                                                                                    \
    FIELD(run_span, start)                                                                                      \
    FIELD(run_span, top)                                                                                        \
    FIELD(run_span, page)                                                                                       \
    NUMBER("page", sizeof(struct page))                                                                         \
    FIELD(page, length)                                                                                         \
    FIELD(page, dirty)                                                                                          \
    FIELD(page, state)                                                                                          \
    PAGE_VIEW                                                                                                   \
    SAMPLES_VIEW                                                                                                \
    GUARDED_VIEW                                                                                                \
    RECORD_VIEW                                                                                                 \
    NUMBER("RUN_FREE", RUN_FREE)                                                                                \
    NUMBER("RUN_USED", RUN_USED)                                                                                \
    NUMBER("RUN_GONE", RUN_GONE)

extern const struct view_entry hs_view[], hs_view_numbers[];

/* Of addresses alone: a start writes to what has an address. An empty name ends a table; this one's last entry leads to the other. */
#define ADDRESS(name, variable) { name, (uint64_t)&(variable) },
#define NUMBER(name, number)
__attribute__((used)) const struct view_entry hs_view[] = { ENTRIES ADDRESS("and", hs_view_numbers) { "", 0 } };
#undef ADDRESS
#undef NUMBER

#define ADDRESS(name, variable)
#define NUMBER(name, number) { name, (number) },
COLD_TABLE const struct view_entry hs_view_numbers[] = { ENTRIES { "", 0 } };

__asm__(".pushsection .note.heapsmith, \"a\", @note\n"
        ".balign 4\n"
        ".long 10, 8, 1\n"
        ".asciz \"heapsmith\"\n"
        ".balign 4\n"
        ".quad hs_view - .\n"
        ".popsection\n");
