"""The merge of a spool's streams by time: records in, events of a trace out (docs/recorder.md, section 4).

Kernels over flat arrays of int64. A spool's words are read as signed ones, which only the stamps' mask has to know of.
"""

import numpy as np

from heapsmith.model.compile.kernel import Ints, Records, compiled, hit_path, kernel
from heapsmith.model.trace.reader import CHUNK_EVENTS, Op

# Records, as runtime/recorder/spool.h lays them out.
UNIT_WORDS = 64 * 1024 // 8
WINDOW_WORDS = UNIT_WORDS - 6  # of a unit, for records
MALLOC, CALLOC, ALIGNED, FREE, FREE_SIZED, REALLOC_FROM, REALLOC_TO, THREAD_START, THREAD_EXIT = range(1, 10)
OPERATION_MASK, LONG = 15, 16
STAMP_SHIFT, STAMP_MASK = 5, (1 << 59) - 1
ADDRESS_BITS, ADDRESS_MASK, SIZE_MASK = 48, (1 << 48) - 1, (1 << 16) - 1
ALIGN_BITS, ALIGN_MASK = 8, (1 << 8) - 1

TRACE_OP = np.array([0, Op.MALLOC, Op.CALLOC, Op.ALIGNED, Op.FREE, Op.FREE_SIZED])  # by the spool's operation
T_MALLOC, T_REALLOC, T_FREE = int(Op.MALLOC), int(Op.REALLOC), int(Op.FREE)
T_START, T_EXIT = int(Op.THREAD_START), int(Op.THREAD_EXIT)


def _record(*names: str) -> np.dtype[np.void]:
    return np.dtype([(name, np.int64) for name in names])


STREAM = _record(
    "word",  # index of its next record
    "stamp",  # of that record
    "window",  # where in `windows` (the first words of all windows, in order) that is
    "windows_end",  # where in `windows` the stream ends
    "thread",
    "held",  # the block of a realloc under way; -1: none that is known
    "held_address",
)
STATE = _record(
    "out",  # events put out
    "live",  # blocks
    "blocks",  # numbers used so far
    "spare",  # numbers to use again
    "threads",
    "now_ns",
    "first_stamp",
    "heaped",  # streams in the heap
    "records",  # merged
    "foreign",  # frees and reallocs of unknown addresses
    "lost",  # frees not seen
    "backsteps",  # stamps before the one before them in their stream
)

EVENTS_PER_RECORD = 3  # at most: a lost free, and a realloc to size 0 that freed one block and gave another
DONE, FULL, GROW = range(3)  # why the merge returned: no record left, chunk full, table half full


@kernel
def count_records(words: Ints, windows: Ints) -> int:
    """Records in `windows`, the two halves of a realloc counted once."""
    count = 0
    for first in windows:
        at = first
        while at < first + WINDOW_WORDS and words[at] != 0:
            if words[at] & OPERATION_MASK != REALLOC_FROM:
                count += 1
            at += 4 if words[at] & LONG else 2
    return count


@hit_path
def home(keys: Ints, address: int) -> int:
    """Where a search for `address` begins."""
    return ((((address >> 4) ^ (address >> 35)) & 0x7FFFFFFF) * 0x9E3779B1 >> 31) & (keys.size - 1)


@hit_path
def find(keys: Ints, address: int) -> int:
    """Where `address` is, or the empty place (0) where it would go; linear probing (Knuth vol. 3, 6.4, algorithm L)."""
    at = home(keys, address)
    while keys[at] != 0 and keys[at] != address:
        at = (at + 1) & (keys.size - 1)
    return at


@hit_path
def remove(keys: Ints, blocks: Ints, gap: int) -> None:
    """Empty place `gap` and move up what would no longer be found (Knuth vol. 3, 6.4, algorithm R)."""
    mask = keys.size - 1
    at = (gap + 1) & mask
    while keys[at] != 0:
        if ((at - home(keys, keys[at])) & mask) >= ((at - gap) & mask):
            keys[gap] = keys[at]
            blocks[gap] = blocks[at]
            gap = at
        at = (at + 1) & mask
    keys[gap] = 0


@kernel
def rehash(keys: Ints, blocks: Ints, new_keys: Ints, new_blocks: Ints) -> None:
    """Put all of a table into a larger empty one; sizes are powers of two."""
    for i in range(keys.size):
        if keys[i] != 0:
            at = find(new_keys, keys[i])
            new_keys[at] = keys[i]
            new_blocks[at] = blocks[i]


@hit_path
def emit(out: Ints, state: Records, op: int, thread: int, block: int, size: int, align_log2: int) -> None:
    """Put an event out: a column of `out`, whose rows are those of a Chunk."""
    i = state[0]["out"]
    out[0, i] = op
    out[1, i] = thread
    out[2, i] = block
    out[3, i] = size
    out[4, i] = align_log2
    out[5, i] = state[0]["now_ns"]
    state[0]["out"] = i + 1


@hit_path
def bury(out: Ints, state: Records, spare: Ints, op: int, thread: int, block: int, size: int, align: int) -> None:
    """The death of `block`: its number goes on the stack of numbers to use again."""
    emit(out, state, op, thread, block, size, align)
    spare[state[0]["spare"]] = block
    state[0]["spare"] += 1


@hit_path
def take(state: Records, keys: Ints, blocks: Ints, address: int) -> int:
    """Unbind `address`; the block it had, or -1."""
    at = find(keys, address)
    if keys[at] == 0:
        return -1
    block = blocks[at]
    remove(keys, blocks, at)
    state[0]["live"] -= 1
    return int(block)


@hit_path
def bind(state: Records, keys: Ints, blocks: Ints, address: int, block: int) -> None:
    """Give `address`, which no block has, to `block`."""
    at = find(keys, address)
    keys[at] = address
    blocks[at] = block
    state[0]["live"] += 1


@hit_path
def vacate(out: Ints, state: Records, keys: Ints, blocks: Ints, spare: Ints, thread: int, address: int) -> None:
    """Before a block gets `address`: one that is still there was freed unseen, and dies here."""
    lost = take(state, keys, blocks, address)
    if lost >= 0:
        bury(out, state, spare, T_FREE, thread, lost, 0, 0)
        state[0]["lost"] += 1


@hit_path
def bear(
    out: Ints,
    state: Records,
    keys: Ints,
    blocks: Ints,
    spare: Ints,
    op: int,
    thread: int,
    address: int,
    size: int,
    align: int,
) -> None:
    """A new block, with the number freed last or the next one."""
    vacate(out, state, keys, blocks, spare, thread, address)
    if state[0]["spare"] > 0:
        state[0]["spare"] -= 1
        block = int(spare[state[0]["spare"]])
    else:
        block = int(state[0]["blocks"])
        state[0]["blocks"] += 1
    bind(state, keys, blocks, address, block)
    emit(out, state, op, thread, block, size, align)


@kernel
def end_realloc(
    out: Ints,
    state: Records,
    keys: Ints,
    blocks: Ints,
    spare: Ints,
    streams: Records,
    i: int,
    address: int,
    size: int,
) -> None:
    """The second half: the block held since the first gets its new address - or has died, or is where it was."""
    thread, held = int(streams[i]["thread"]), int(streams[i]["held"])
    if address == 0 and size != 0:  # failed
        if held >= 0:
            bind(state, keys, blocks, int(streams[i]["held_address"]), held)
    elif held >= 0 and size != 0:
        vacate(out, state, keys, blocks, spare, thread, address)
        bind(state, keys, blocks, address, held)
        emit(out, state, T_REALLOC, thread, held, size, 0)
    else:  # size 0 frees, though some allocators return another block; an unknown block is as good as freed
        if held >= 0:
            bury(out, state, spare, T_FREE, thread, held, 0, 0)
        else:
            state[0]["foreign"] += 1
        if address != 0:
            bear(out, state, keys, blocks, spare, T_MALLOC, thread, address, size, 0)


@hit_path
def free(
    out: Ints,
    state: Records,
    keys: Ints,
    blocks: Ints,
    spare: Ints,
    op: int,
    thread: int,
    address: int,
    size: int,
    align: int,
) -> None:
    """The death of the block at `address`, if one is known there."""
    block = take(state, keys, blocks, address)
    if block >= 0:
        bury(out, state, spare, op, thread, block, size, align)
    else:
        state[0]["foreign"] += 1


@hit_path
def apply(
    out: Ints, state: Records, keys: Ints, blocks: Ints, spare: Ints, words: Ints, streams: Records, i: int
) -> None:
    """The next record of stream `i`: at most EVENTS_PER_RECORD events."""
    at, thread = int(streams[i]["word"]), int(streams[i]["thread"])
    operation = int(words[at]) & OPERATION_MASK
    address, size, align = int(words[at + 1]) & ADDRESS_MASK, (int(words[at + 1]) >> ADDRESS_BITS) & SIZE_MASK, 0
    if words[at] & LONG:
        size, align = int(words[at + 2]), int(words[at + 3]) & ALIGN_MASK
        address |= int(words[at + 3]) >> ALIGN_BITS << ADDRESS_BITS
    if operation <= ALIGNED:
        bear(out, state, keys, blocks, spare, int(TRACE_OP[operation]), thread, address, size, align)
    elif operation <= FREE_SIZED:
        free(out, state, keys, blocks, spare, int(TRACE_OP[operation]), thread, address, size, align)
    elif operation == REALLOC_FROM:
        streams[i]["held"] = take(state, keys, blocks, address)
        streams[i]["held_address"] = address
    elif operation == REALLOC_TO:
        end_realloc(out, state, keys, blocks, spare, streams, i, address, size)
    elif operation == THREAD_START:
        streams[i]["thread"] = state[0]["threads"]
        state[0]["threads"] += 1
        emit(out, state, T_START, int(streams[i]["thread"]), 0, 0, 0)
    elif operation == THREAD_EXIT:
        emit(out, state, T_EXIT, thread, 0, 0, 0)


@hit_path
def find_record(words: Ints, windows: Ints, streams: Records, i: int) -> int:
    """1, and stream `i` is past the end of a window if it was at one; 0 at the end of the stream."""
    while streams[i]["word"] >= windows[streams[i]["window"]] + WINDOW_WORDS or words[streams[i]["word"]] == 0:
        streams[i]["window"] += 1
        if streams[i]["window"] == streams[i]["windows_end"]:
            return 0
        streams[i]["word"] = windows[streams[i]["window"]]
    return 1


@hit_path
def stamp_at(words: Ints, at: int, base: int) -> int:
    """The stamp of the record at `at`, in ticks since the stamp `base`."""
    return ((int(words[at]) >> STAMP_SHIFT) - base) & STAMP_MASK


@hit_path
def sift(heap: Ints, heaped: int, streams: Records, at: int) -> None:
    """Put the stream at place `at` of the heap (least stamp first) where it belongs at or below."""
    moving = heap[at]
    while 2 * at + 1 < heaped:
        child = 2 * at + 1
        if child + 1 < heaped and streams[heap[child + 1]]["stamp"] < streams[heap[child]]["stamp"]:
            child += 1
        if streams[moving]["stamp"] <= streams[heap[child]]["stamp"]:
            break
        heap[at] = heap[child]
        at = child
    heap[at] = moving


@kernel
def start_heap(words: Ints, windows: Ints, streams: Records, heap: Ints, state: Records, base: int) -> None:
    """Heap the streams that have a record. `base`: the stamp from which the streams' stamps count."""
    heaped = 0
    for i in range(streams.size):
        if find_record(words, windows, streams, i):
            streams[i]["stamp"] = stamp_at(words, int(streams[i]["word"]), base)
            heap[heaped] = i
            heaped += 1
    for at in range(heaped // 2 - 1, -1, -1):
        sift(heap, heaped, streams, at)
    if heaped > 0:
        state[0]["first_stamp"] = streams[heap[0]]["stamp"]
    state[0]["heaped"] = heaped


@hit_path
def advance(words: Ints, windows: Ints, streams: Records, heap: Ints, state: Records, base: int) -> None:
    """The first stream of the heap moves to its next record, or leaves."""
    i = int(heap[0])
    streams[i]["word"] += 4 if words[streams[i]["word"]] & LONG else 2
    if find_record(words, windows, streams, i):
        stamp = stamp_at(words, int(streams[i]["word"]), base)
        if stamp < streams[i]["stamp"]:
            state[0]["backsteps"] += 1
        else:
            streams[i]["stamp"] = stamp
    else:
        state[0]["heaped"] -= 1
        heap[0] = heap[state[0]["heaped"]]
    sift(heap, int(state[0]["heaped"]), streams, 0)


@kernel
def merge(
    words: Ints,
    windows: Ints,
    streams: Records,
    heap: Ints,
    state: Records,
    keys: Ints,
    blocks: Ints,
    spare: Ints,
    out: Ints,
    base: int,
    ns_per_tick: float,
) -> int:
    """Records in the order of their stamps until DONE, FULL (`out` has CHUNK_EVENTS) or GROW (the table is half full).

    `keys`, `blocks`: address -> block number, by open addressing; `spare`: as long as they are. `out` has a row per
    field of Chunk and room for CHUNK_EVENTS + EVENTS_PER_RECORD events.
    """
    while state[0]["heaped"] > 0:
        if state[0]["out"] >= CHUNK_EVENTS:
            return FULL
        if 2 * state[0]["live"] >= keys.size:
            return GROW
        i = int(heap[0])
        state[0]["now_ns"] = int((streams[i]["stamp"] - state[0]["first_stamp"]) * ns_per_tick)
        state[0]["records"] += 1
        apply(out, state, keys, blocks, spare, words, streams, i)
        advance(words, windows, streams, heap, state, base)
    return DONE


fast_count_records = compiled(count_records)
fast_rehash = compiled(rehash)
fast_start_heap = compiled(start_heap)
fast_merge = compiled(merge)
