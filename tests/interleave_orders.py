"""The memory order of each access of the lock-free parts: what fails without it, and its instruction on 64-bit Arm."""

from typing import NamedTuple

from interleave_mutants import (
    BATCH,
    CLAIMS,
    FOREIGN,
    HELPER,
    LIST,
    LOST,
    PAST,
    PROCESSOR,
    QUEUE,
    RACE,
    READY,
    RECORD,
    SWAPS,
    Mutant,
)

EARLY = "early"
"""The explorer's second model: stores that others see before their thread comes to them, as on 64-bit Arm."""

LOCK = "2_system/lock.h"
DRAWS = "9_api/sampling/draws.h"
FENCE = "    __atomic_thread_fence(__ATOMIC_SEQ_CST);\n"


class Order(NamedTuple):
    """An access that needs its order: `old` in `file` becomes `new`, and `case` fails with `words` under `model`.

    On 64-bit Arm `function`, of `source` compiled for the program's design, has it as `instruction`.
    """

    part: str
    access: str
    order: str
    program: str
    case: str
    model: tuple[str, ...]
    file: str
    old: str
    new: str
    words: str
    source: str
    function: str
    instruction: str

    def mutant(self) -> Mutant:
        return Mutant(self.program, self.case, self.file, self.old, self.new, self.words)

    def line(self) -> str:
        """The row of docs/lab/concurrency.md."""
        case = " ".join((self.case, *self.model))
        return f"| {self.part} | {self.access} | {self.order} | `{self.instruction}` | {self.program}: {case} |"


ORDERS = [
    Order(
        *("lock", "take", "acquire", "lock", "lock_2x1", ()),
        *(LOCK, "lock_self(), false, __ATOMIC_ACQUIRE", "lock_self(), false, 0", RACE),
        *("2_system/locks.c", "hs_lock_pool", "cas8_acq"),
    ),
    Order(
        *("lock", "take after a sleep", "acquire", "lock", "lock_2x1", ()),
        *("2_system/lock.c", "| LOCK_WAITERS, false, __ATOMIC_ACQUIRE", "| LOCK_WAITERS, false, 0", RACE),
        *("2_system/lock.c", "hs_lock_wait", "cas8_acq"),
    ),
    Order(
        *("lock", "give up", "release", "lock", "lock_2x1", ()),
        *(LOCK, "exchange_n(&lock->word, 0, __ATOMIC_RELEASE", "exchange_n(&lock->word, 0, 0", RACE),
        *("2_system/locks.c", "hs_unlock_pool", "swp8_rel"),
    ),
    Order(
        *("`owner_mutex`", "its lock's take", "acquire", "mutex", "list_1x1", ()),
        *(LOCK, "lock_self(), false, __ATOMIC_ACQUIRE", "lock_self(), false, 0", RACE),
        *("2_system/numbered_locks.c", "hs_lock_number", "cas8_acq"),
    ),
    Order(
        *("`owner_list`", "push", "release", "list", "list_1x1", ()),
        *(LIST, "true, __ATOMIC_RELEASE", "true, 0", RACE, LIST, "remote_free", "cas8_rel"),
    ),
    Order(
        *("`owner_list`", "take", "acquire", "list", "list_1x1", ()),
        *(LIST, "NULL, __ATOMIC_ACQUIRE", "NULL, 0", RACE, LIST, "remote_drain", "swp8_acq"),
    ),
    Order(
        *("`owner_queue`", "append: what was done to the block", "release", "queue", "list_1x1", ()),
        *(QUEUE, "newest, __ATOMIC_ACQ_REL", "newest, __ATOMIC_ACQUIRE", RACE, QUEUE, "remote_free", "swp8_acq_rel"),
    ),
    Order(
        *("`owner_queue`", "append: before the link", "acquire", "queue", "list_1x1", (EARLY,)),
        *(QUEUE, "newest, __ATOMIC_ACQ_REL", "newest, __ATOMIC_RELEASE", RACE, QUEUE, "remote_free", "swp8_acq_rel"),
    ),
    Order(
        *("`owner_queue`", "take: all of the chain", "acquire", "queue", "list_1x1", ()),
        *(QUEUE, "NULL, __ATOMIC_ACQ_REL", "NULL, __ATOMIC_RELEASE", RACE, QUEUE, "remote_drain", "swp8_acq_rel"),
    ),
    Order(
        *("`owner_queue`", "take: after the front's NULL", "release", "queue", "list_1x1", (EARLY,)),
        *(QUEUE, "NULL, __ATOMIC_ACQ_REL", "NULL, __ATOMIC_ACQUIRE", RACE, QUEUE, "remote_drain", "swp8_acq_rel"),
    ),
    Order(
        *("`owner_batch`", "push", "release", "batch", "batch_2", ()),
        *(BATCH, "true, __ATOMIC_RELEASE", "true, 0", RACE, BATCH, "hand_over", "cas8_rel"),
    ),
    Order(
        *("`owner_batch`", "take", "acquire", "batch", "batch_2", ()),
        *(BATCH, "NULL, __ATOMIC_ACQUIRE", "NULL, 0", RACE, BATCH, "has_parcels", "swp8_acq"),
    ),
    Order(
        *("pool", "push", "release", "pool", "swap_push", ()),
        *(SWAPS, "with, false, __ATOMIC_RELEASE", "with, false, 0", RACE),
        *("6_slabs/slabs.c", "slabs_retire", "cas8_rel"),
    ),
    Order(
        *("pool", "pop", "acquire", "pool", "swap_push", ()),
        *(SWAPS, "? __atomic_load_n(pool, __ATOMIC_ACQUIRE)", "? __atomic_load_n(pool, 0)", LOST),
        *("6_slabs/slabs.c", "slabs_acquire", "ldar"),
    ),
    Order(
        *("pool", "pop again", "acquire", "pool", "swap_push", ()),
        *(SWAPS, "__ATOMIC_ACQUIRE, __ATOMIC_ACQUIRE))", "__ATOMIC_ACQUIRE, 0))", LOST),
        *("6_slabs/slabs.c", "slabs_acquire", "cas8_acq"),
    ),
    Order(
        *("pool", "take all", "acquire", "pool", "swap_all", ()),
        *(SWAPS, "NULL), false, __ATOMIC_ACQUIRE", "NULL), false, 0", RACE),
        *("6_slabs/slabs_back.c", "to_pooled", "cas8_acq"),
    ),
    Order(
        *("claims", "open a superslab", "release", "pool", "claim_3", ()),
        *(CLAIMS, "1 + next, __ATOMIC_RELEASE", "1 + next, 0", RACE, "6_slabs/slabs.c", "slabs_map", "stlr"),
    ),
    Order(
        *("claims", "claim", "acquire", "pool", "claim_3", ()),
        *(CLAIMS, "after, true, __ATOMIC_ACQUIRE", "after, true, 0", RACE),
        *("6_slabs/slabs.c", "slabs_acquire", "cas8_acq"),
    ),
    Order(
        *("claims", "push on the list of all slabs", "release", "pool", "claim_walk", ()),
        *(CLAIMS, "slab, true, __ATOMIC_RELEASE", "slab, true, 0", RACE),
        *("6_slabs/slabs.c", "slabs_acquire", "cas8_rel"),
    ),
    Order(
        *("runs", "raise `top` over new records", "release", "run", "run_looked_behind", ()),
        *("7_large/run_pages.c", "&hs_runs.top, top, __ATOMIC_RELEASE", "&hs_runs.top, top, 0"),
        *("a run begins where none seems to", "7_large/run_pages.c", "pages_rise", "stlr"),
    ),
    Order(
        *("list of all heaps", "publish a heap", "release", "life", "live_seen", ()),
        *("8_threads/life.c", "&hs_newest_heap, heap, __ATOMIC_RELEASE", "&hs_newest_heap, heap, 0", RACE),
        *("8_threads/life.c", "hs_heap_create", "stlr"),
    ),
    Order(
        *("list of all heaps", "walk", "acquire", "life", "live_seen", ()),
        *("3_records/heap.h", "&hs_newest_heap, __ATOMIC_ACQUIRE", "&hs_newest_heap, 0", RACE),
        *("9_api/tally.c", "tally_class", "ldar"),
    ),
    Order(
        *("list of all heaps", "publish a heap, for switches", "release", "sampling", "sampling_on", ()),
        *("8_threads/life.c", "&hs_newest_heap, heap, __ATOMIC_RELEASE", "&hs_newest_heap, heap, 0", RACE),
        *("8_threads/life.c", "hs_heap_create", "stlr"),
    ),
    Order(
        *("list of all heaps", "walk, for switches", "acquire", "sampling", "sampling_on", ()),
        *("3_records/heap.h", "&hs_newest_heap, __ATOMIC_ACQUIRE", "&hs_newest_heap, 0", RACE),
        *(READY, "sampling_leads", "ldar"),
    ),
    Order(
        *("samples", "a mean, behind whose requests it is for", "release", "sampling", "sampling_other", ()),
        *(DRAWS, "mean, __ATOMIC_RELEASE", "mean, 0", "a request counts that is of another thread"),
        *(READY, "hs_sampling_set", "stlr"),
    ),
    Order(
        *("samples", "use a mean", "acquire", "sampling", "sampling_other", ()),
        *(DRAWS, "mean, __ATOMIC_ACQUIRE", "mean, 0", "a request counts that is of another thread"),
        *(READY, "hs_malloc_watched", "ldar"),
    ),
    Order(
        *("samples", "keep a mean, before it is switched off", "release", "sampling", "sampling_signals", ()),
        *("9_api/sampling/switch.c", "__ATOMIC_RELEASE, __ATOMIC_RELAXED", "__ATOMIC_RELAXED, __ATOMIC_RELAXED"),
        *("samples are not taken with the mean", "9_api/sampling/switch.c", "sampling_switch", "cas8_rel"),
    ),
    Order(
        *("samples", "a mean, before the rows", "fence", "sampling", "sampling_again", ()),
        *(READY, FENCE.rstrip() + " /*", "    /*", PAST, READY, "sampling_leads", "dmb"),
    ),
    Order(
        *("samples", "rows led, before the mean is looked at again", "fence", "sampling", "sampling_signals", ()),
        *(READY, f"{FENCE}    }} while", "    } while", PAST, READY, "sampling_leads", "dmb"),
    ),
    Order(
        *("samples", "rows turned back, before the mean is looked at", "fence", "sampling", "sampling_again", ()),
        *(READY, f"    set_rows(heap, false);\n{FENCE}", "    set_rows(heap, false);\n", PAST),
        *(READY, "turn_back", "dmb"),
    ),
    Order(
        *("samples", "a new heap, before the mean is looked at", "fence", "sampling", "sampling_on", ()),
        *(READY, f"{FENCE}    look(heap);", "    look(heap);", PAST, READY, "sampling_heap_started", "dmb"),
    ),
    Order(
        *("start", "say that all is made", "release", "life", "start_2", ()),
        *("8_threads/life.c", "&heaps_usable, true, __ATOMIC_RELEASE", "&heaps_usable, true, 0", RACE),
        *("8_threads/life.c", "hs_started", "stlrb"),
    ),
    Order(
        *("start", "use what was made", "acquire", "life", "start_2", ()),
        *("8_threads/life.c", "__atomic_load_n(&heaps_usable, __ATOMIC_ACQUIRE)", "__atomic_load_n(&heaps_usable, 0)"),
        *(RACE, "8_threads/life.c", "hs_started", "ldarb"),
    ),
    Order(
        *("heap of a processor", "publish", "release", "processor", "processor_2", ()),
        *(PROCESSOR, "&hs_no_heap, __ATOMIC_RELEASE", "&hs_no_heap, 0", RACE, PROCESSOR, "processor_settle", "stlr"),
    ),
    Order(
        *("heap of a processor", "find", "acquire", "processor", "processor_2", ()),
        *("8_threads/heaps/processor.h", "[place], __ATOMIC_ACQUIRE", "[place], 0", RACE),
        *(PROCESSOR, "hs_own_heap", "ldar"),
    ),
    Order(
        *("helper", "call: a class is wanted", "release", "helper", "helper_2", ()),
        *(HELPER, "&was, CALLED, false, __ATOMIC_ACQ_REL", "&was, CALLED, false, __ATOMIC_ACQUIRE"),
        *("a call is lost", HELPER, "background_front_missed", "cas4_acq_rel"),
    ),
    Order(
        *("helper", "begin a step", "acquire", "helper", "helper_2", ()),
        *(HELPER, "&from, to, false, __ATOMIC_ACQ_REL", "&from, to, false, __ATOMIC_RELEASE"),
        *("a call is lost", HELPER, "help", "cas4_acq_rel"),
    ),
    Order(
        *("recorded streams", "take the lock", "acquire", "record", "record_3", ()),
        *(RECORD, "lock, 1, __ATOMIC_ACQUIRE", "lock, 1, 0", RACE, RECORD, "announce_end", "swp4_acq"),
    ),
    Order(
        *("recorded streams", "give up the lock", "release", "record", "record_3", ()),
        *(RECORD, "lock, 0, __ATOMIC_RELEASE", "lock, 0, 0", RACE, RECORD, "announce_end", "stlr"),
    ),
    Order(
        *("the next allocator", "its first answer", "release", "elsewhere", "elsewhere_2", ()),
        *(FOREIGN, "__ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE", "__ATOMIC_ACQUIRE, __ATOMIC_ACQUIRE", RACE),
        *(FOREIGN, "elsewhere_know", "cas8_acq_rel"),
    ),
    Order(
        *("the next allocator", "another's answer", "acquire", "elsewhere", "elsewhere_2", ()),
        *(FOREIGN, "__ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE", "__ATOMIC_RELEASE, 0", RACE),
        *(FOREIGN, "elsewhere_know", "cas8_acq_rel"),
    ),
    Order(
        *("the next allocator", "say that all is known", "release", "elsewhere", "elsewhere_2", ()),
        *(FOREIGN, "true, __ATOMIC_RELEASE", "true, 0", RACE, FOREIGN, "elsewhere_know", "stlrb"),
    ),
    Order(
        *("the next allocator", "use what is known", "acquire", "elsewhere", "elsewhere_2", ()),
        *(FOREIGN, "&resolved, __ATOMIC_ACQUIRE", "&resolved, 0", RACE, FOREIGN, "elsewhere_know", "ldarb"),
    ),
]

WITHOUT_ROW = {
    "their lock is the one of the recorded streams": ["recorder/stream.c", "recorder/stacks.c"],
    "what is stored last, for another process that reads the file or this memory": [
        "heap/1_base/spool/records.h",
        "heap/1_base/spool/windows.c",
        "heap/9_api/sampling/samples.c",
        "recorder/image.c",
        "recorder/writer.h",
    ],
    "the other side of `top` (runs) and of the list of all slabs (claims)": [
        "heap/6_slabs/slab_census.c",
        "heap/6_slabs/slabs_back.c",
        "heap/7_large/run_span.h",
        "heap/9_api/copies/judged.c",
        "heap/9_api/metrics.c",
    ],
    "under a lock as well, the interpreter's in the last": [
        "heap/5_slab_policies/remote/owner_mutex.c",
        "heap/7_large/sampling/guarded.c",
        "recorder/python_places.c",
    ],
    "more than is needed: the exchange of `last` orders the links of `owner_queue`": ["heap/4_blocks/links.h"],
    "more than is needed: nothing is read behind the word": ["heap/2_system/over_fork.c"],
    "`seq_cst`, which the models lack": ["heap/2_system/os.c", "heap/4_blocks/hardening/guards.c"],
    "the compiler's order alone, against signals": ["heap/9_api/sampling/record.h"],
    "not explored: a lock of reports, for which nobody waits": [
        "heap/9_api/options.c",
        "heap/9_api/sampling/profile.c",
    ],
    "not explored: hand-overs of the [replayer](#waits-of-the-tools)": [
        "replay/pace.c",
        "replay/stream.c",
        "replay/waits.c",
    ],
}
"""Files of the runtime that have orders and no row above, by the reason."""
