"""Merges a spool's streams by time: from records to events (docs/lab/recording.md, 'from spool to trace').

The kernels work on flat arrays of int64. A spool's words are unsigned: STAMP_MASK removes the sign.
"""

import numpy as np

from heapsmith.model.compile.kernel import Ints, Records, compiled, hit_path, kernel, record_type
from heapsmith.model.trace.addresses import Numbered, bind, find, next_number, release, take
from heapsmith.model.trace.reader import CHUNK_EVENTS, Op

# The layout of records in runtime/heap/1_base/spool/spool.h.
UNIT_WORDS = 64 * 1024 // 8
WINDOW_WORDS = UNIT_WORDS - 6  # per unit, for records
MALLOC, CALLOC, ALIGNED, FREE, FREE_SIZED, REALLOC_FROM, REALLOC_TO, THREAD_START, THREAD_EXIT = range(1, 10)
TOUCHED, RESIDENT, PROCESSOR = range(10, 13)  # samples, no events
MOVED = 13  # no event either
OPERATION_MASK, LONG, BRIEF = 15, 16, 32
STAMP_SHIFT, STAMP_MASK = 6, (1 << 58) - 1
BRIEF_SIZE_SHIFT, BRIEF_SIZE_MASK, BRIEF_ADDRESS_MASK = 50, (1 << 14) - 1, (1 << 44) - 1
ADDRESS_BITS, ADDRESS_MASK, SIZE_MASK = 48, (1 << 48) - 1, (1 << 16) - 1
ALIGN_BITS, ALIGN_MASK = 8, (1 << 8) - 1
HIGH_MASK, SITE_SHIFT, SITE_MASK = (1 << 16) - 1, 32, (1 << 32) - 1

TRACE_OP = np.array([0, Op.MALLOC, Op.CALLOC, Op.ALIGNED, Op.FREE, Op.FREE_SIZED])  # by operation
T_MALLOC, T_REALLOC, T_FREE = int(Op.MALLOC), int(Op.REALLOC), int(Op.FREE)
T_START, T_EXIT = int(Op.THREAD_START), int(Op.THREAD_EXIT)

SHARED_NS = 1024
"""A time that several records share is a multiple: it is not known better, and takes fewer bytes in the trace."""
TOUCHED_SIZES = 40
"""Rows of touched pages: blocks of at least 2 ** row pages."""
RESIDENT_SAMPLES = 1024
"""Samples of resident pages that are kept; when they are full every second sample goes."""
SAMPLED_THREADS = 1024
"""Threads whose processor time is kept."""

STREAM = record_type(
    "word",  # index of the stream's next record
    "stamp",  # of the next record
    "window",  # index in `windows` of the current window
    "windows_end",  # index in `windows` of the stream's end
    "thread",
    "place",  # the processor of its records; -1: unknown
    "held",  # the block of a realloc in progress; -1: unknown
    "held_address",
)
SCALARS = record_type(
    "base",  # the stamp that counts as 0
    "events",  # emitted
    "live",  # live blocks
    "numbers",  # block numbers used so far
    "spares",  # block numbers to use again
    "threads",
    "now_ns",
    "first_stamp",
    "heaped",  # streams in the heap
    "records",  # merged records
    "foreign",  # frees and reallocs of unknown addresses
    "lost",  # frees that were not recorded
    "backsteps",  # stamps before the previous stamp of their stream
    "residents",  # samples of resident pages
    "resident_step",  # ns between two of them, at least
    "resident_peak",  # pages
    *("site", "address", "place"),  # of the record: its call site, its block's address, its processor
)

EVENTS_PER_RECORD = 3  # at most: a lost free, and a realloc to size 0 that returned another block
DONE, FULL, GROW = range(3)  # why `merge` returned: no record left, chunk full, table half full


class Merge(Numbered):
    """The state of a merge.

    words: the spool. windows: the index of each window's first word, in order by stream. heap: the streams that have a
    record, the least stamp first. out: a row per field of Chunk, of sites and of addresses; CHUNK_EVENTS +
    EVENTS_PER_RECORD columns. sites: the site by the number of a stack. touched: blocks, pages and touched pages by
    size. resident: times (ns) and pages. processor: a row per thread of time and processor time (ns) at the first and
    at the last sample.
    """

    words: Ints
    windows: Ints
    streams: Records
    heap: Ints
    out: Ints
    sites: Ints
    touched: Ints
    resident: Ints
    processor: Ints


@hit_path
def words_of(head: int) -> int:
    """The length of the record with this first word."""
    return (1 if head & BRIEF else 2) << (1 if head & LONG else 0)


@kernel
def count_records(words: Ints, windows: Ints) -> int:
    """The number of records of events in `windows`; the two halves of a realloc count once."""
    count = 0
    for first in windows:
        at = first
        while at < first + WINDOW_WORDS and words[at] != 0:
            operation = words[at] & OPERATION_MASK
            if operation != REALLOC_FROM and operation < TOUCHED:
                count += 1
            at += words_of(int(words[at]))
    return count


@hit_path
def emit(state: Merge, op: int, thread: int, block: int, size: int, align_log2: int) -> None:
    """Append an event to the chunk."""
    i = state.events
    state.out[0, i] = op
    state.out[1, i] = thread
    state.out[2, i] = block
    state.out[3, i] = size
    state.out[4, i] = align_log2
    state.out[5, i] = state.now_ns
    state.out[6, i] = state.place
    state.out[7, i] = state.site
    state.out[8, i] = state.address
    state.events = i + 1


@hit_path
def bury(state: Merge, op: int, thread: int, block: int, size: int, align: int) -> None:
    """`block` dies: its number goes on the stack of spare numbers."""
    emit(state, op, thread, block, size, align)
    release(state, block)


@hit_path
def vacate(state: Merge, thread: int, address: int) -> None:
    """Before a block gets `address`: the block still there was freed unseen and dies now."""
    unseen = take(state, address)
    if unseen >= 0:
        bury(state, T_FREE, thread, unseen, 0, 0)
        state.out[7, state.events - 1] = 0
        state.lost += 1


@hit_path
def bear(state: Merge, op: int, thread: int, address: int, size: int, align: int) -> None:
    """A new block, with the number that was freed last or a new number."""
    vacate(state, thread, address)
    block = next_number(state)
    bind(state, address, block)
    emit(state, op, thread, block, size, align)


@kernel
def end_realloc(state: Merge, i: int, address: int, size: int) -> None:
    """The second half of a realloc: the block gets its new address, dies, or keeps its address."""
    thread, held = int(state.streams[i]["thread"]), int(state.streams[i]["held"])
    if address == 0 and size != 0:  # the realloc failed
        if held >= 0:
            bind(state, int(state.streams[i]["held_address"]), held)
    elif held >= 0 and size != 0:
        vacate(state, thread, address)
        bind(state, address, held)
        emit(state, T_REALLOC, thread, held, size, 0)
    else:  # size 0 frees; a block that it returned and unknown blocks count as freed
        if held >= 0:
            bury(state, T_FREE, thread, held, 0, 0)
        else:
            state.foreign += 1
        if address != 0:
            bear(state, T_MALLOC, thread, address, size, 0)


@hit_path
def free(state: Merge, op: int, thread: int, address: int, size: int, align: int) -> None:
    """The block at `address` dies if it is known."""
    block = take(state, address)
    if block >= 0:
        bury(state, op, thread, block, size, align)
    else:
        state.foreign += 1


@kernel
def sample(state: Merge, operation: int, thread: int, value: int) -> None:
    """Keep a sample."""
    if operation == TOUCHED:
        pages, row = value >> 32, 0
        # a block of 2 ** n pages that begins within a page has one whole page less
        while (pages + 1) >> (row + 1) > 0 and row + 1 < TOUCHED_SIZES:
            row += 1
        state.touched[row, 0] += 1
        state.touched[row, 1] += pages
        state.touched[row, 2] += value & 0xFFFFFFFF
    elif operation == RESIDENT:
        state.resident_peak = max(int(state.resident_peak), value)
        keep_resident(state, value)
    elif thread < SAMPLED_THREADS:
        if state.processor[thread, 0] < 0:
            state.processor[thread, 0], state.processor[thread, 1] = state.now_ns, value
        state.processor[thread, 2], state.processor[thread, 3] = state.now_ns, value


@kernel
def keep_resident(state: Merge, pages: int) -> None:
    """Keep a sample of resident pages, unless the last one that is kept is too near."""
    count = int(state.residents)
    if count > 0 and state.now_ns - state.resident[count - 1, 0] < state.resident_step:
        return
    if count == RESIDENT_SAMPLES:
        count //= 2
        for index in range(count):
            state.resident[index, 0] = state.resident[2 * index, 0]
            state.resident[index, 1] = state.resident[2 * index, 1]
        state.resident_step = (state.resident[count - 1, 0] - state.resident[0, 0]) // count
    state.resident[count, 0], state.resident[count, 1] = state.now_ns, pages
    state.residents = count + 1


@hit_path
def address_of(state: Merge, at: int) -> int:
    """The address in the record at this word."""
    if state.words[at] & BRIEF:
        return (int(state.words[at]) >> STAMP_SHIFT & BRIEF_ADDRESS_MASK) << 4
    address = int(state.words[at + 1]) & ADDRESS_MASK
    if state.words[at] & LONG:
        address |= (int(state.words[at + 3]) >> ALIGN_BITS & HIGH_MASK) << ADDRESS_BITS
    return address


@hit_path
def apply(state: Merge, i: int) -> None:
    """Apply the next record of stream `i`: at most EVENTS_PER_RECORD events."""
    at, thread = int(state.streams[i]["word"]), int(state.streams[i]["thread"])
    head, word, number = int(state.words[at]), int(state.words[at + 1]), 0
    operation, address = head & OPERATION_MASK, address_of(state, at)
    size, align = (word >> ADDRESS_BITS) & SIZE_MASK, 0
    if head & BRIEF:
        size, number = (head >> BRIEF_SIZE_SHIFT) & BRIEF_SIZE_MASK, word if head & LONG else 0
    elif head & LONG:
        size, align = int(state.words[at + 2]), int(state.words[at + 3]) & ALIGN_MASK
        number = int(state.words[at + 3]) >> SITE_SHIFT & SITE_MASK
    state.address = address
    state.site, state.place = state.sites[number if number < state.sites.size else 0], state.streams[i]["place"]
    if operation <= ALIGNED:
        bear(state, int(TRACE_OP[operation]), thread, address, size, align)
    elif operation <= FREE_SIZED:
        free(state, int(TRACE_OP[operation]), thread, address, size, align)
    elif operation == REALLOC_FROM:
        state.streams[i]["held"] = take(state, address)
        state.streams[i]["held_address"] = address
    elif operation == REALLOC_TO:
        end_realloc(state, i, address, size)
    elif operation == THREAD_START:
        state.streams[i]["thread"] = state.threads
        emit(state, T_START, state.threads, 0, 0, 0)
        state.threads += 1
    elif operation == THREAD_EXIT:
        emit(state, T_EXIT, thread, 0, 0, 0)
    elif operation == MOVED:
        state.streams[i]["place"] = word
    else:
        sample(state, operation, thread, word)


@hit_path
def find_record(state: Merge, i: int) -> int:
    """Move stream `i` on to its next window at a window's end; returns 0 at the stream's end."""
    word, window = int(state.streams[i]["word"]), int(state.streams[i]["window"])
    while word >= state.windows[window] + WINDOW_WORDS or state.words[word] == 0:
        window += 1
        if window == state.streams[i]["windows_end"]:
            return 0
        word = int(state.windows[window])
    state.streams[i]["word"], state.streams[i]["window"] = word, window
    return 1


@hit_path
def stamp_of(state: Merge, i: int) -> int:
    """The stamp of the next record of stream `i`, in ticks since `base`; a brief record has the last one's."""
    if state.words[state.streams[i]["word"]] & BRIEF:
        return int(state.streams[i]["stamp"])
    return ((int(state.words[state.streams[i]["word"]]) >> STAMP_SHIFT) - state.base) & STAMP_MASK


@hit_path
def set_time(state: Merge, i: int, ns_per_tick: float) -> None:
    """The time of the next record of stream `i`; that of a brief record is the time of the record before it."""
    at = int(state.streams[i]["word"])
    if state.words[at] & BRIEF:
        return
    now = int((state.streams[i]["stamp"] - state.first_stamp) * ns_per_tick)
    is_shared = state.words[at + words_of(int(state.words[at]))] & BRIEF  # no window is quite full
    state.now_ns = max(int(state.now_ns), now // SHARED_NS * SHARED_NS) if is_shared else now


@hit_path
def sift(state: Merge, at: int) -> None:
    """Sift the stream at place `at` of the heap down (least stamp first)."""
    moving = int(state.heap[at])
    while 2 * at + 1 < state.heaped:
        child = 2 * at + 1
        if (
            child + 1 < state.heaped
            and state.streams[state.heap[child + 1]]["stamp"] < state.streams[state.heap[child]]["stamp"]
        ):
            child += 1
        if state.streams[moving]["stamp"] <= state.streams[state.heap[child]]["stamp"]:
            break
        state.heap[at] = state.heap[child]
        at = child
    state.heap[at] = moving


@kernel
def start_heap(state: Merge) -> None:
    """Build the heap of the streams that have a record."""
    for i in range(state.streams.size):
        if find_record(state, i):
            state.streams[i]["stamp"] = stamp_of(state, i)
            state.heap[state.heaped] = i
            state.heaped += 1
    for at in range(state.heaped // 2 - 1, -1, -1):
        sift(state, at)
    if state.heaped > 0:
        state.first_stamp = state.streams[state.heap[0]]["stamp"]


@hit_path
def advance(state: Merge) -> None:
    """Move the heap's first stream to its next record, or remove the stream."""
    i = int(state.heap[0])
    state.streams[i]["word"] += words_of(int(state.words[state.streams[i]["word"]]))
    if find_record(state, i):
        stamp = stamp_of(state, i)
        if stamp < state.streams[i]["stamp"]:
            state.backsteps += 1
        else:
            state.streams[i]["stamp"] = stamp
    else:
        state.heaped -= 1
        state.heap[0] = state.heap[state.heaped]
    sift(state, 0)


@kernel
def fits(state: Merge, i: int) -> bool:
    """Whether the next record of stream `i` may come next: a block that dies lives, and none where one is born."""
    at = int(state.streams[i]["word"])
    operation, address = int(state.words[at]) & OPERATION_MASK, address_of(state, at)
    if operation > REALLOC_TO or address == 0:
        return True
    is_born = operation <= ALIGNED or operation == REALLOC_TO
    return bool((state.keys[find(state.keys, address)] == 0) == is_born)


@kernel
def settle(state: Merge) -> None:
    """Of the streams whose next records have the least stamp, the first whose record fits becomes the heap's first.

    A clock that ticks every 40 ns may tell a free and the birth that follows it on another thread the same time.
    """
    first = int(state.heap[0])
    for at in range(state.heaped):
        i = int(state.heap[at])
        if state.streams[i]["stamp"] == state.streams[first]["stamp"] and fits(state, i):
            state.heap[0], state.heap[at] = i, first
            return


@hit_path
def is_tied(state: Merge, at: int) -> bool:
    """Whether the stream at this place of the heap has the stamp of the first."""
    return bool(at < state.heaped and state.streams[state.heap[at]]["stamp"] == state.streams[state.heap[0]]["stamp"])


@kernel
def merge(state: Merge, ns_per_tick: float) -> int:
    """Merge records by stamp until DONE, FULL (CHUNK_EVENTS) or GROW (the table is half full)."""
    while state.heaped > 0:
        if state.events >= CHUNK_EVENTS:
            return FULL
        if 2 * state.live >= state.keys.size:
            return GROW
        if is_tied(state, 1) or is_tied(state, 2):
            settle(state)
        i = int(state.heap[0])
        set_time(state, i, ns_per_tick)
        state.records += int(state.words[state.streams[i]["word"]]) & OPERATION_MASK < TOUCHED
        apply(state, i)
        advance(state)
    return DONE


fast_count_records = compiled(count_records)
fast_start_heap = compiled(start_heap)
fast_merge = compiled(merge)
