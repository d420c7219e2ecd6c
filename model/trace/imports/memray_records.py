"""The kernels that take memray's records."""

from heapsmith.model.compile.kernel import Ints, compiled, hit_path, kernel
from heapsmith.model.trace.events import Op
from heapsmith.model.trace.imports import stacked
from heapsmith.model.trace.imports.binary import little, part, string, varint, whole
from heapsmith.model.trace.imports.python_stacks import CODES, ENTRY, HIDDEN, PAIR, PLACES, PYTHON
from heapsmith.model.trace.imports.stacked import Stacked, add_frame, frame_of, lacks_room, leave, name_of, site_of
from heapsmith.model.trace.imports.text import begins, keeps, put

TRAILER, MEMORY, NATIVE_FRAME, MAPPINGS, IMAGE, SEGMENT, THREAD_NAME, SWITCH, CODE = 1, 2, 5, 6, 7, 8, 10, 12, 14
FRAME_POP, OBJECT, FRAME_PUSH, ALLOCATION = 16, 32, 64, 128  # and the numbers up to the next one
MISS = 15  # a record with this place has its address, which becomes the first of the recent ones
RECENT = 16  # places of the ring; those of records are below MISS
MOST_ADDRESS = 1 << 60  # of those in units of 8 bytes
NS_PER_MS, MOST_MS = 10**6, 1 << 40

PYTHON_FREE, MALLOC_FREE = 1, 5  # allocators: their records have no size
OTHER, NONE = 254, 255
FREE = int(Op.FREE)
SCALARS = (
    *("has_native", "last", "newest", "last_code", "last_frame", "passed"),
    *("tid", "here", "main", "hides", "hidden", "native_frames", "merged", *stacked.SCALARS),
)


class Memray(Stacked):
    """What the records before told: `last` is the last address of memory, in units of 8 bytes.

    `last_code` is the last address of native code, `last_frame` the last number of a native frame. `here` is the name
    of the thread of the records: it stands for the innermost frame of its Python stack. The outermost `hides` frames
    of thread `main` are memray's own, of which `hidden` are on its stack. Native frames are counted from 1.
    """

    TABLES = Stacked.TABLES | {"natives"}

    natives: Ints  # of each native frame of the file its frame
    ops: Ints  # of each allocator: its operation, OTHER or NONE
    recent: Ints  # a ring of addresses, the newest at `newest`


@hit_path
def signed(state: Memray, last: int) -> int:
    """The address or number at `at`, a difference to the last one, and -1 if it is none; `at` is behind it then."""
    folded = varint(state)
    if folded < 0:
        return -1
    address = last + ((folded >> 1) ^ -(folded & 1))
    return address if 0 <= address < MOST_ADDRESS else -1


@hit_path
def address_of(state: Memray, place: int) -> int:
    """The address of a record in units of 8 bytes, or -1."""
    if place == MISS:
        return signed(state, state.last)
    return int(state.recent[(state.newest + place) % RECENT])


@hit_path
def remember(state: Memray, place: int, address: int) -> None:
    """A record that is whole had this address."""
    if place == MISS:
        state.last = address
        state.newest = (state.newest + RECENT - 1) % RECENT
        state.recent[state.newest] = address


@hit_path
def site_here(state: Memray, native: int) -> int:
    """The site of a call in this thread, which has this native frame, or 0; there is room for a frame."""
    innermost = int(state.named[state.here])
    frame = int(state.natives[native]) if native <= state.native_frames else 0
    if frame == 0:
        return 0 if state.addresses[innermost] & HIDDEN else site_of(state, innermost)
    return site_of(state, frame_of(state, PAIR | frame, innermost) if innermost > 0 else frame)


@hit_path
def allocation(state: Memray, token: int) -> int:
    """Take a birth or a free; return 0 if it is none or not whole."""
    place = token >> 3 & MISS
    address = address_of(state, place)
    allocator = token & 7
    if allocator == 0:
        allocator = little(state, 1)
    op, size, frame = int(state.ops[allocator]), 0, state.last_frame
    if allocator not in (PYTHON_FREE, MALLOC_FREE):
        if state.has_native:
            frame = signed(state, frame)
        size = varint(state)
    if address < 0 or size < 0 or frame < 0 or op == NONE or state.at > state.end or lacks_room(state, 1):
        return 0
    remember(state, place, address)
    state.last_frame = frame
    if op == OTHER:
        state.passed += 1
    elif op == FREE:
        state.site[state.calls] = 0
        put(state, FREE, state.tid, address * 8, 0, 0)
    else:
        state.site[state.calls] = site_here(state, frame) if address > 0 else 0
        put(state, op, state.tid, 0, address * 8, size)
    return 1


@hit_path
def python_object(state: Memray, token: int) -> int:
    """Take the birth or the end of an object of Python, whose address is one of the recent ones too."""
    place = token >> 1 & MISS
    address, frame = address_of(state, place), state.last_frame
    if token & 1 and state.has_native:
        frame = signed(state, frame)
    if address < 0 or frame < 0 or state.at > state.end:
        return 0
    remember(state, place, address)
    state.last_frame = frame
    return 1


@hit_path
def numbers(state: Memray, count: int) -> int:
    """Take numbers that no reader needs; return 0 if they are none."""
    for _ in range(count):
        if varint(state) < 0:
            return 0
    return 1


@hit_path
def memory(state: Memray) -> int:
    """Take a record of the process's memory, which has the time since the begin; return 0 if it is none."""
    resident, time_ms = varint(state), varint(state)
    if resident < 0 or time_ms < 0 or time_ms > MOST_MS or state.at > state.end:
        return 0
    state.time_ns = time_ms * NS_PER_MS
    return 1


@hit_path
def switch(state: Memray) -> int:
    """Take the thread of the records that follow; return 0 if it is none."""
    tid = little(state, 8)
    if tid < 0 or state.at > state.end or lacks_room(state, 1):
        return 0
    state.tid, state.here = tid, name_of(state, tid)
    return 1


@hit_path
def native_frame(state: Memray) -> int:
    """Take a frame of native stacks: a place in a call, and the frame that called it; return 0 if it is none."""
    address, outer = signed(state, state.last_code), signed(state, state.last_frame)
    if address < 0 or outer < 0 or outer > state.native_frames or state.at > state.end or lacks_room(state, 1):
        return 0
    add_frame(state, address, int(state.natives[outer]))
    state.native_frames += 1
    state.natives[state.native_frames] = state.frames
    state.last_code, state.last_frame = address, outer
    return 1


@hit_path
def push(state: Memray, token: int) -> int:
    """Take the call of a function of Python, from a place in its caller; return 0 if it is none."""
    code, folded = varint(state), varint(state)
    place = ((folded >> 1) ^ -(folded & 1)) + 1  # -1 is none
    if code < 0 or folded < 0 or code >> CODES or place >> PLACES or state.at > state.end or lacks_room(state, 1):
        return 0
    address = PYTHON | code << PLACES | place
    if token & 1:
        address |= ENTRY
    if state.tid == state.main and state.hidden < state.hides:
        address |= HIDDEN
        state.hidden += 1
    state.named[state.here] = frame_of(state, address, int(state.named[state.here]))
    return 1


@hit_path
def pop(state: Memray, count: int) -> int:
    """Functions of Python return; return 0 if there are fewer."""
    frame = int(state.named[state.here])
    while count > 0 and frame > 0:
        if state.addresses[frame] & HIDDEN:
            state.hidden -= 1
        frame = int(state.outer[frame])
        count -= 1
    state.named[state.here] = frame
    return int(count == 0)


@hit_path
def code(state: Memray) -> int:
    """Leave to Python what a function of Python is called and where its lines are; return 0 if it is none."""
    is_code = numbers(state, 1) and string(state) and string(state) and numbers(state, 1)
    return int(is_code and part(state, varint(state)) and leave(state))


@kernel
def image(state: Memray) -> int:
    """Leave to Python the name of a file that was mapped, and its segments; return 0 if it is none."""
    if not string(state):
        return 0
    segments = varint(state)
    if little(state, 8) < 0:
        return 0
    while segments > 0 and state.at < state.end:
        if state.data[state.at] != SEGMENT:
            return 0
        state.at += 1
        if little(state, 8) < 0 or not numbers(state, 1):
            return 0
        segments -= 1
    if segments > 0:
        state.at = state.end + 1
    return int(segments >= 0 and leave(state))


@kernel
def rare_record(state: Memray, token: int) -> int:
    """Take a record of names, maps or the end; return 0 if it is none."""
    if token == CODE:
        return code(state)
    if token == NATIVE_FRAME:
        return native_frame(state)
    if token == IMAGE:
        return image(state)
    if token == THREAD_NAME:
        return string(state)
    if token == TRAILER:
        state.at, state.ended = state.end, 1
    return int(token in (TRAILER, MAPPINGS))


@kernel
def one_record(state: Memray) -> int:
    """Take a record; return 0 if it is none, or `at` is behind the piece."""
    token = int(state.data[state.at])
    state.at += 1
    if token >= ALLOCATION:
        return allocation(state, token)
    if token >= FRAME_PUSH:
        return push(state, token)
    if token >= OBJECT:
        return python_object(state, token)
    if token >= FRAME_POP:
        return pop(state, token - FRAME_POP + 1)
    if token == SWITCH:
        return switch(state)
    return memory(state) if token == MEMORY else rare_record(state, token)


@kernel
def take(state: Memray) -> None:
    """Take records (binary.scan)."""
    while begins(state) and keeps(state, whole(state, one_record(state))):
        pass


fast_take = compiled(take)
