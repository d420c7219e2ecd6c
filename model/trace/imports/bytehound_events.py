"""The kernels that take bytehound's events."""

from heapsmith.model.compile.kernel import Ints, compiled, hit_path, kernel
from heapsmith.model.trace.events import Op
from heapsmith.model.trace.imports.binary import little, part, pass_over, whole
from heapsmith.model.trace.imports.stacked import (
    Stacked,
    frame_named,
    frame_of,
    lacks_room,
    leave,
    name_of,
    site_of,
)
from heapsmith.model.trace.imports.text import begins, keeps, put

NS_PER_US = 1000
MOST_US = 1 << 53
ADDRESS = (1 << 63) - 1
HEADER_BYTES = 16 + 4 * 8 + 4  # before the command: id, times, process

HEADER, ALLOC, REALLOC, FREE, FILE, BACKTRACE, MEMORY_DUMP, MARKER, MEMORY_MAP, MEMORY_UNMAP = range(10)
MALLOPT, ENVIRON, WALL_CLOCK, PARTIAL_BACKTRACE, STRING, FRAME, DECODED_BACKTRACE, SUMS = range(10, 18)
PARTIAL_BACKTRACE_32, BACKTRACE_32, ALLOC_EX, REALLOC_EX, FREE_EX, FILE_64 = range(18, 24)
ADD_REGION, REMOVE_REGION, REGION_USAGE, MEMORY_MAP_EX = range(24, 28)
"""The kinds of events by their numbers."""
IS_CALLOC = 1 << 31  # of an allocation's flags
MALLOC_OP, CALLOC_OP, REALLOC_OP, FREE_OP = (int(op) for op in (Op.MALLOC, Op.CALLOC, Op.REALLOC, Op.FREE))
ALLOCATIONS = 38  # bits of an allocation's number among those of its thread
NUMBERED = 1 << 62  # names with it are numbers of blocks, others their pointers
BACKTRACES = 1 << 61  # numbers of backtraces are below it; others stand for none
ALL = 0xFFFFFFFF  # frames of the last stack are dropped
FRAME_BYTES = 33
MOST_BYTES = 1 << 24  # of a stack and of maps
PROC_S, ELF_MAPS = int.from_bytes(b"/proc/s", "little"), int.from_bytes(b"elf/maps", "little")


class Bytehound(Stacked):
    """What the events before told. Names stand for the stacks of backtraces, and for the last one of each thread."""

    decoded: Ints  # of each decoded frame its address, or -1 if it was inlined: the next one has its address


@hit_path
def block_of(state: Bytehound, thread: int, number: int, pointer: int) -> int:
    """What a block is called: by the number that newer files give each block, or by its pointer."""
    if (thread == 0 and number == 0) or (thread == -1 and number == -1):
        return pointer
    return NUMBERED | (thread & 0xFFFFFF) << ALLOCATIONS | number & (1 << ALLOCATIONS) - 1


@hit_path
def event(state: Bytehound, kind: int) -> int:
    """Take an allocation, a realloc or a free; return 0 if it is none or not whole."""
    thread, number = 0, 0
    if kind >= ALLOC_EX:
        thread, number = little(state, 8), little(state, 8)
        kind -= ALLOC_EX - ALLOC
    time_us = little(state, 8)
    old = little(state, 8) if kind == REALLOC else 0
    pointer = little(state, 8)
    size = 0 if kind == FREE else little(state, 8)
    backtrace = little(state, 8)
    tid = little(state, 4)
    is_calloc = 0
    if kind != FREE:
        is_calloc = little(state, 4) & IS_CALLOC
        state.at += 4 + 8  # free space behind the block and before it
    if state.at > state.end or pointer < 0 or old < 0 or size < 0 or time_us < 0 or time_us > MOST_US:
        return 0
    state.time_ns = time_us * NS_PER_US
    has_stack = kind != FREE and pointer > 0 and 0 <= backtrace < BACKTRACES
    state.site[state.calls] = site_of(state, frame_named(state, 2 * backtrace)) if has_stack else 0
    name = block_of(state, thread, number, pointer)
    if kind == FREE:
        put(state, FREE_OP, tid, name, 0, 0)
    elif kind == REALLOC:
        put(state, REALLOC_OP, tid, block_of(state, thread, number, old), name, size)
    else:
        put(state, CALLOC_OP if is_calloc else MALLOC_OP, tid, 0, name, size)
    return 1


@hit_path
def array(state: Bytehound, before: int, width: int) -> int:
    """Take `before` bytes, and a number of items of `width` bytes; return 0 if there are too many."""
    state.at += before
    return pass_over(state, little(state, 4) * width)


@hit_path
def texts(state: Bytehound, count: int) -> int:
    """Take texts, each behind its size; return 0 if one is too long."""
    for _ in range(count):
        if not part(state, little(state, 4)):
            return 0
    return 1


@kernel
def file(state: Bytehound, kind: int) -> int:
    """Take the content of a file, or leave that of /proc/self/maps to Python; return 0 if it is too long."""
    state.at += 8
    size = little(state, 4)
    begin = state.at
    is_maps = size == 15 and little(state, 7) == PROC_S and little(state, 8) == ELF_MAPS
    state.at = begin
    if not part(state, size):
        return 0
    size = little(state, 4 if kind == FILE else 8)
    if not is_maps or size < 0 or size > MOST_BYTES:
        return pass_over(state, size)
    state.at += size
    return leave(state)


@kernel
def backtrace(state: Bytehound, kind: int) -> int:
    """Take a stack: its addresses, the innermost first, and all but some of its thread's last one; 0 if it is none."""
    number = state.backtraces
    if kind != DECODED_BACKTRACE:
        number = little(state, 8)
    is_part = kind in (PARTIAL_BACKTRACE, PARTIAL_BACKTRACE_32)
    thread = 2 * little(state, 4) + 1 if is_part else 0
    dropped = little(state, 4) if is_part else ALL
    count, width = little(state, 4), 8 if kind in (BACKTRACE, PARTIAL_BACKTRACE) else 4
    begin = state.at
    if count * width > MOST_BYTES:
        return 0
    state.at += count * width
    if state.at > state.end or lacks_room(state, count + 2):
        return 1
    frame = 0
    if dropped != ALL:
        frame = frame_named(state, thread)
        while dropped > 0 and frame > 0:
            frame = int(state.outer[frame])
            dropped -= 1
    for at in range(count - 1, -1, -1):
        state.at = begin + at * width
        address = little(state, width)
        if kind != DECODED_BACKTRACE:
            address = max(address - 1, 0)  # of the call, before the return address
        elif address < state.decodes:
            address = int(state.decoded[address])
        else:
            return 0
        if address >= 0:
            frame = frame_of(state, address, frame)
    state.at = begin + count * width
    if 0 <= number < BACKTRACES:
        state.named[name_of(state, 2 * number)] = frame
    if is_part:
        state.named[name_of(state, thread)] = frame
    if kind == DECODED_BACKTRACE:
        state.backtraces += 1
    return 1


@hit_path
def short(state: Bytehound) -> int:
    """The number at `at`, whose first byte begins with a bit of 1 for each byte that follows; -1 if it is too large."""
    first = little(state, 1)
    bits, mask = 0, 0x80
    while first & mask:
        bits += 1
        mask >>= 1
    low = little(state, bits)
    return low | (first & (mask - 1)) << 8 * bits if bits < 8 else low


@hit_path
def shorts(state: Bytehound, count: int) -> None:
    """Take numbers that no reader needs."""
    for _ in range(count):
        short(state)


@kernel
def region(state: Bytehound, kind: int) -> int:
    """Take what happened to a mapping; return 0 if it is none."""
    if kind == MEMORY_MAP_EX:
        shorts(state, 1)
        state.at += 8
        shorts(state, 2)
        state.at += 12
        shorts(state, 1)
        state.at += 8
        shorts(state, 1)
        state.at += 4
        return 1
    state.at += 8
    shorts(state, 1)
    state.at += 8
    shorts(state, 1)
    if kind == REGION_USAGE:
        shorts(state, 6)
        return 1
    if kind == ADD_REGION:
        shorts(state, 2)
        state.at += 12
        return pass_over(state, short(state))
    sources = short(state)
    while sources > 0 and state.at < state.end:
        state.at += 8
        shorts(state, 1)
        state.at += 8
        shorts(state, 1)
        state.at += 4
        sources -= 1
    return int(sources == 0 or state.at > state.end)


@kernel
def other_event(state: Bytehound, kind: int) -> int:
    """Take an event that is no call; return 0 if it is none."""
    if kind == HEADER:
        state.at += HEADER_BYTES
        return int(texts(state, 3) and part(state, 9))
    if kind in (FILE, FILE_64):
        return file(state, kind)
    if kind in (BACKTRACE, BACKTRACE_32, PARTIAL_BACKTRACE, PARTIAL_BACKTRACE_32, DECODED_BACKTRACE):
        return backtrace(state, kind)
    if kind == STRING:
        state.at += 4
        return int(part(state, little(state, 4)) and leave(state))
    if kind == FRAME:
        state.at += FRAME_BYTES
        return leave(state)
    if kind in (ENVIRON, MEMORY_DUMP):
        return array(state, 0 if kind == ENVIRON else 16, 1)
    if kind >= ADD_REGION:
        return region(state, kind) if kind <= MEMORY_MAP_EX else 0
    return fixed(state, kind)


@hit_path
def fixed(state: Bytehound, kind: int) -> int:
    """Take an event of a fixed size; return 0 if it is none."""
    size = 0
    if kind == MARKER:
        size = 4
    elif kind == MEMORY_MAP:
        size = 64
    elif kind == MEMORY_UNMAP:
        size = 36
    elif kind == MALLOPT:
        size = 32
    elif kind == WALL_CLOCK:
        size = 24
    elif kind == SUMS:
        size = 56
        state.sums += int(state.at + size <= state.end)
    state.at += size
    return int(size > 0)


@kernel
def one_event(state: Bytehound) -> int:
    """Take an event; return 0 if it is none, or `at` is behind the piece."""
    kind = little(state, 4)
    if ALLOC <= kind <= FREE or ALLOC_EX <= kind <= FREE_EX:
        return event(state, kind)
    return other_event(state, kind)


@kernel
def take(state: Bytehound) -> None:
    """Take events (binary.scan)."""
    while begins(state) and keeps(state, whole(state, one_event(state))):
        pass


fast_take = compiled(take)
