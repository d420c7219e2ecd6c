"""Mistakes in the locks and lock-free parts that the explorer must find (tests/test_interleave.py)."""

from typing import NamedTuple


class Mutant(NamedTuple):
    """A mistake: in `file`, `old` (found once) becomes `new`; `case` must fail with `words`."""

    program: str
    case: str
    file: str
    old: str
    new: str
    words: str


RACE = "data race: another thread's write did not happen before this access"
LIST, MUTEX, QUEUE = (
    "5_slab_policies/remote/owner_list.c",
    "5_slab_policies/remote/owner_mutex.c",
    "5_slab_policies/remote/owner_queue.c",
)
BATCH = "5_slab_policies/remote/owner_batch.c"
HELPER, PROCESSOR = "8_threads/background/refill.c", "8_threads/heaps/processor.c"
FOREIGN, RECORD = "9_api/foreign/elsewhere.c", "9_api/sampling/record.c"
READY = "9_api/sampling/ready.c"
SWAPS, CLAIMS = "5_slab_policies/pool/swaps.h", "5_slab_policies/pool/claims.h"
LOST = "a slab is lost, or two have it"
PAST = "samples are taken, and the row leads past them"
MUTANTS = [
    Mutant(
        "lock",
        "lock_2x1",
        "2_system/lock.h",
        "return __atomic_compare_exchange_n(&lock->word, &word, lock_self(), false,"
        " __ATOMIC_ACQUIRE, __ATOMIC_RELAXED);",
        "word = __atomic_load_n(&lock->word, __ATOMIC_ACQUIRE); if (word == 0) "
        "__atomic_store_n(&lock->word, lock_self(), __ATOMIC_RELAXED); return word == 0;",
        "data race",
    ),
    Mutant(
        "lock",
        "lock_2x1",
        "2_system/lock.h",
        "__atomic_exchange_n(&lock->word, 0, __ATOMIC_RELEASE)",
        "__atomic_load_n(&lock->word, __ATOMIC_RELAXED); __atomic_store_n(&lock->word, 0, __ATOMIC_RELEASE)",
        "deadlock",
    ),
    Mutant("lock", "lock_2x1", "2_system/lock.h", "        hs_lock_wake(lock);", "        (void)lock;", "deadlock"),
    Mutant("lock", "lock_3x1", "2_system/lock.c", "lock_self() | LOCK_WAITERS", "lock_self()", "deadlock"),
    Mutant(
        "lock",
        "lock_2x1",
        "2_system/lock.c",
        "(uint32_t)(word | LOCK_WAITERS)",
        "(uint32_t)__atomic_load_n(&lock->word, __ATOMIC_RELAXED)",
        "deadlock",
    ),
    Mutant("lock", "lock_2x1", "2_system/lock.h", "& ~LOCK_WAITERS) ==", ") ==", "lock_mine is false for the holder"),
    Mutant("lock", "lock_2x1", "2_system/lock.c", "    errno = saved;", "    (void)saved;", "errno is not as it was"),
    Mutant("list", "recycle", LIST, "true, __ATOMIC_RELEASE", "true, 0", "data race"),
    Mutant(
        "list",
        "list_2x1",
        LIST,
        "__atomic_exchange_n(&heap->remote, NULL, __ATOMIC_ACQUIRE);",
        "__atomic_load_n(&heap->remote, __ATOMIC_ACQUIRE); __atomic_store_n(&heap->remote, NULL, __ATOMIC_RELAXED);",
        "a block is lost",
    ),
    Mutant(
        "list",
        "list_2x1",
        LIST,
        "!__atomic_compare_exchange_n(&owner->remote, &head, first, true, __ATOMIC_RELEASE, __ATOMIC_RELAXED)",
        "(__atomic_store_n(&owner->remote, first, __ATOMIC_RELEASE), 0)",
        "a block is lost",
    ),
    Mutant(
        "list",
        "list_2x1",
        LIST,
        "    do {\n        link_set(first, head);",
        "    link_set(first, head);\n    do {",
        "a block is lost",
    ),
    Mutant(
        *("list", "list_2x1", "2_system/counters.h"),
        *("count_shared(uint64_t *counter, uint64_t by)\n{\n    __atomic_fetch_add(counter, by, __ATOMIC_RELAXED)",),
        *("count_shared(uint64_t *counter, uint64_t by)\n{\n    *counter += by", RACE),
    ),
    Mutant("list", "recycle", "5_slab_policies/remote/owned.h", "    hs_lock_pool();", "", "data race"),
    Mutant("mutex", "list_2x1", MUTEX, "    hs_lock_number(lock_of(owner));\n", "", "a block is lost"),
    Mutant("mutex", "list_1x1", MUTEX, "    hs_lock_number(lock_of(heap));\n", "", "data race"),
    Mutant("mutex", "list_1x1", MUTEX, "    hs_unlock_number(lock_of(owner));\n", "", "deadlock"),
    Mutant("mutex_fork", "mutex_fork", "2_system/locks.c", "    take_numbered(holds_none);\n", "", "data race"),
    Mutant("mutex_fork", "mutex_fork", "2_system/locks.c", "    release_numbered();\n", "", "deadlock"),
    Mutant("mutex", "list_1x2", MUTEX, "    __atomic_store_n(&heap->remote, NULL, __ATOMIC_RELAXED);\n", "", "a block"),
    Mutant(
        "queue",
        "list_1x2",
        QUEUE,
        "        __atomic_store_n(&queue->front, NULL, __ATOMIC_RELAXED);\n        *newest ="
        " __atomic_exchange_n(&queue->last, NULL, __ATOMIC_ACQ_REL);\n",
        "        *newest = __atomic_exchange_n(&queue->last, NULL, __ATOMIC_ACQ_REL);\n"
        "        __atomic_store_n(&queue->front, NULL, __ATOMIC_RELAXED);\n",
        "a block is lost",
    ),
    Mutant(
        "queue",
        "list_2x1",
        QUEUE,
        "__atomic_exchange_n(&queue->last, newest, __ATOMIC_ACQ_REL);",
        "__atomic_load_n(&queue->last, __ATOMIC_ACQUIRE); __atomic_store_n(&queue->last, newest, __ATOMIC_RELEASE);",
        "a block is lost",
    ),
    Mutant("queue", "list_1x1", QUEUE, "    link_store(newest, NULL);\n", "", "a link leads nowhere"),
    Mutant("queue", "list_2x1", QUEUE, "if (left == 0 || (more && next == NULL)) {", "if (false) {", "memory that"),
    Mutant("queue", "list_twice", QUEUE, "oldest = queue->taken;", "oldest = NULL;", "blocks come out of order"),
    Mutant(
        "batch",
        "batch_3",
        BATCH,
        "    do {\n        link_set(oldest, head);",
        "    link_set(oldest, head);\n    do {",
        "a block is lost",
    ),
    Mutant(
        "batch",
        "batch_3",
        BATCH,
        "__atomic_exchange_n(&boxes->inbox[class], NULL, __ATOMIC_ACQUIRE);",
        "__atomic_load_n(&boxes->inbox[class], __ATOMIC_ACQUIRE); "
        "__atomic_store_n(&boxes->inbox[class], NULL, __ATOMIC_RELAXED);",
        "a block is lost",
    ),
    Mutant("pool", "swap_2", SWAPS, "(word >> TAG_SHIFT) + 1, below", "word >> TAG_SHIFT, below", LOST),
    Mutant("pool", "swap_2", SWAPS, "with = pool_word(word >> TAG_SHIFT, first);", "with = pool_word(0, first);", LOST),
    Mutant("pool", "swap_all", SWAPS, "        pool_push_chain(pool, first, last);", "        return bytes;", LOST),
    Mutant("pool", "claim_close", CLAIMS, "exchange_n(&superslab->next, 0, ", "load_n(&superslab->next, ", RACE),
    Mutant("pool", "claim_3", SWAPS, "    hs_lock_pool();", "    ;", RACE),
    Mutant(
        "run", "run_freed_twice", "7_large/run_span.h", "&used, RUN_GONE, false", "&used, RUN_USED, false", "data race"
    ),
    Mutant(
        "run",
        "run_looked_behind",
        "7_large/run_pages.c",
        "set_run_state(first, RUN_GONE);",
        "",
        "a run begins where none seems to",
    ),
    Mutant(
        "peak",
        "peak_2x1",
        "2_system/counters.c",
        "while (by > 0 && now > peak",
        "if (by > 0 && now > peak",
        "an increase has",
    ),
    Mutant(
        "peak", "peak_2x1", "2_system/counters.c", "by > 0 && now > peak", "by > 0", "the peak is not the greatest sum"
    ),
    Mutant(
        "peak",
        "peak_2x1",
        "2_system/counters.c",
        "__atomic_add_fetch(&hs_count.committed, (uint64_t)by, __ATOMIC_RELAXED)",
        "hs_count.committed += (uint64_t)by",
        RACE,
    ),
    Mutant(
        "life",
        "live_2",
        "8_threads/heaps/thread.c",
        "        hs_lock_pool();\n        count_locks(LOCKS_HEAP_START);\n",
        "",
        RACE,
    ),
    Mutant("life", "handlers_exchanged", "2_system/locks.c", "holds_none || tries < PATIENCE", "true", "livelock"),
    Mutant(
        "life",
        "handler_large",
        "2_system/locks.c",
        "return;\n    if (locks_taken & LARGE)",
        "return;\n    if (1)",
        "fork released a lock",
    ),
    Mutant("life", "fork_twice", "2_system/locks.c", "if (--hs_forking > 0)", "if (--forking > 1)", "data race"),
    Mutant("life", "child_of_handler", "2_system/locks.c", "        lock_forget(&pool_lock);", "        ;", "deadlock"),
    Mutant(
        "helper",
        "helper_2",
        HELPER,
        "        __atomic_exchange_n(&is_wanted[class], 0, __ATOMIC_ACQUIRE);\n        top_up(class);\n",
        "        top_up(class);\n        __atomic_exchange_n(&is_wanted[class], 0, __ATOMIC_ACQUIRE);\n",
        "a call is lost",
    ),
    Mutant("helper", "helper_2", HELPER, "becomes(ASLEEP, NONE)", "word_set(&helper, NONE)", "a call is lost"),
    Mutant("helper", "helper_2", HELPER, "if (was == OFF)\n", "if (was == OFF || was == BUSY)\n", "a call is lost"),
    Mutant(
        "processor",
        "processor_2",
        PROCESSOR,
        "    hs_lock_number(lock_of(place));\n    count_locks(LOCKS_OTHER);\n    void ***top",
        "    void ***top",
        RACE,
    ),
    Mutant(
        *("processor", "processor_2", PROCESSOR),
        *("heap == &hs_no_heap ? hs_heap_create() : NULL;", "hs_heap_create();", "data race"),
    ),
    Mutant(
        *("record", "record_3", RECORD),
        *("        lock_here();\n        hs_window_leave(", "        hs_window_leave(", RACE),
    ),
    Mutant(
        "record",
        "record_3",
        "1_base/spool/windows.c",
        "        slot += record_words(*slot);\n",
        "        break;\n",
        "a record is written over",
    ),
    Mutant("record", "record_3", "1_base/spool/windows.c", "!is_gone(ended_of(*link)->thread)", "false", RACE),
    Mutant(
        *("sampling", "sampling_off", READY),
        *("    __atomic_store_n(&heap->caches.parked[class], NULL, __ATOMIC_RELAXED);\n", "", "a block is lost"),
    ),
    Mutant(
        "sampling",
        "sampling_off",
        READY,
        "    look(heap);\n    unpark(heap, class);\n    bool led",
        "    look(heap);\n    bool led",
        "a request gets no block",
    ),
    Mutant(
        *("sampling", "sampling_again", READY),
        *("    if (sampling_counts())\n        set_rows(heap, true);\n}\n\n/* Brings", "}\n\n/* Brings", PAST),
    ),
    Mutant(
        *("sampling", "sampling_signals", "9_api/sampling/switch.c"),
        *(
            "wanted = mean > 0 ? 0 : __atomic_load_n(&mean_before, __ATOMIC_RELAXED)",
            "wanted = mean > 0 ? 0 : SAMPLE_MEAN",
        ),
        "samples are not taken with the mean that they had",
    ),
    Mutant(
        *("handler", "handler_once", "1_base/handler.h"),
        *("__atomic_exchange_n(&handled->had_turn, true, __ATOMIC_RELAXED)", "false", "a handler has its turn twice"),
    ),
    Mutant("sampling", "sampling_signals", READY, "while (watched != (sampling_mean() > 0));", "while (false);", PAST),
]
