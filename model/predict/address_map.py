"""Address maps: what each part of a heap's address space holds between two events of a trace."""

from typing import NamedTuple

import msgspec
import numpy as np
import numpy.typing as npt

from heapsmith.model.compile.cache import cached_njit
from heapsmith.model.constants import PAGE
from heapsmith.model.design.plan import Plan
from heapsmith.model.heap.idle import in_slots, levels_below, stretch_blocks, stretches
from heapsmith.model.heap.simulator import Simulator
from heapsmith.model.memory import layout
from heapsmith.model.memory.layout import HUGE_CODE, RUN_CODE
from heapsmith.model.memory.state import State
from heapsmith.model.parts.front_questions import capacity_of

I64 = npt.NDArray[np.int64]


class Used(NamedTuple):
    """The address space that a heap used in a whole trace: the places of its slabs in order, pages of its run span."""

    places: I64
    pages: int


class Cell(msgspec.Struct, frozen=True):
    """Bytes of a column, and the blocks that begin there; `oldest` is a block number, -1 if there is none.

    Live bytes are those of whole blocks. Idle bytes are those of blocks in fronts and in the
    transfer cache. The rest of the committed bytes is free.
    """

    live: I64
    idle: I64
    committed: I64
    blocks: I64
    oldest: I64


def used_by(simulator: Simulator) -> Used:
    """Return what a simulator at the end of a trace has used."""
    state = simulator.state
    return Used(np.sort(state.slabs["place"][: state.slabs_made]), int(state.top))


class AddressMap:
    """Draws heaps of one design on one trace as columns of equal numbers of bytes.

    The columns are first the slabs that the trace ever uses, by address, then the pages of the run
    span. Mappings of huge blocks are left out: each holds one block.
    """

    def __init__(self, plan: Plan, used: Used, most_columns: int) -> None:
        self._plan = plan
        self._places = used.places
        self.slab_bytes = len(used.places) * plan.slab_bytes
        self.bytes = self.slab_bytes + used.pages * PAGE
        pages = max(1, self.bytes // PAGE)
        self.column_bytes = -(-pages // most_columns) * PAGE
        self.columns = -(-pages * PAGE // self.column_bytes)
        self._edges: I64 = np.arange(self.columns + 1, dtype=np.int64) * self.column_bytes

    def of(self, simulator: Simulator, born: I64) -> Cell:
        """Return the columns as the heap stands; `born` has the event of birth of each block number."""
        state = simulator.state
        handles = state.blocks["handle"]
        numbers = np.flatnonzero((handles >= 0) & (handles < HUGE_CODE))
        at, length = self._spans(state, handles[numbers])
        order = np.argsort(at)
        at, length, numbers = at[order], length[order], numbers[order]
        column = at // self.column_bytes
        return Cell(
            self._filled(at, length),
            self._filled(*self._sorted_spans(state, _idle(state, self._plan))),
            self._committed(state),
            np.bincount(column, minlength=self.columns),
            _oldest(column, numbers, born[numbers], self.columns),
        )

    def _spans(self, state: State, handles: I64) -> tuple[I64, I64]:
        """Return where the blocks of these handles begin on the map, and their bytes."""
        is_run = handles >= RUN_CODE
        cls = np.where(is_run, 0, handles & layout.CLASS_MASK)
        slab = np.where(is_run, 0, handles >> layout.SLAB_SHIFT)
        page = np.where(is_run, handles - RUN_CODE, 0)
        index = (handles >> layout.INDEX_SHIFT) & layout.INDEX_MASK
        stride = state.classes["stride"][cls]
        small = self._slab_at(state, slab) + state.classes["first"][cls] + index * stride
        run = self.slab_bytes + page * PAGE
        return np.where(is_run, run, small), np.where(is_run, state.pages["run"][page] * PAGE, stride)

    def _sorted_spans(self, state: State, handles: I64) -> tuple[I64, I64]:
        at, length = self._spans(state, handles)
        order = np.argsort(at)
        return at[order], length[order]

    def _slab_at(self, state: State, slab: I64) -> I64:
        """Return where slabs begin on the map."""
        found: I64 = np.searchsorted(self._places, state.slabs["place"][slab]) * self._plan.slab_bytes
        return found

    def _committed(self, state: State) -> I64:
        slabs = np.arange(state.slabs_made)
        at, length = self._slab_at(state, slabs), state.slabs["committed"][slabs]
        order = np.argsort(at)
        pages = np.zeros((self.bytes - self.slab_bytes) // PAGE, np.int64)
        run, free, extent, holds = (
            np.ascontiguousarray(state.pages[name]) for name in ("run", "free", "extent", "holds")
        )
        _mark_committed(run, free, extent, holds, state.top, pages)
        first = self.slab_bytes + np.flatnonzero(pages) * PAGE
        return self._filled(
            np.concatenate([at[order], first]), np.concatenate([length[order], np.full(len(first), PAGE)])
        )

    def _filled(self, at: I64, length: I64) -> I64:
        """Return the bytes of each column that lie in these spans, which are sorted and disjoint."""
        until = np.concatenate([[0], np.cumsum(length)])
        begun = np.searchsorted(at, self._edges)
        ends = np.concatenate([[0], at + length])
        beyond = np.maximum(0, ends[begun] - self._edges)
        found: I64 = np.diff(until[begun] - beyond)
        return found


@cached_njit
def _mark_committed(run: I64, free: I64, extent: I64, holds: I64, top: int, found: I64) -> None:
    """Set found[page] to 1 for each committed page of the run span."""
    page = 0
    while page < top:
        stop = page + run[page]
        if free[page] == 0:
            found[page:stop] = 1
            page = stop
        while page < stop:
            found[page : page + extent[page]] = holds[page]
            page += extent[page]


def _oldest(column: I64, numbers: I64, born: I64, columns: int) -> I64:
    """Return the block of each column that was born first, -1 where none is."""
    found = np.full(columns, -1, np.int64)
    latest_first = np.argsort(-born, kind="stable")
    found[column[latest_first]] = numbers[latest_first]  # of assignments to one place the last one stays
    return found


def _idle(state: State, plan: Plan) -> I64:
    """Return the handles of the blocks in fronts and in the transfer cache."""
    classes = state.classes
    fronts = state.fronts[: state.heaps_made * plan.class_count]
    cls = np.arange(len(fronts)) % plan.class_count
    most = np.maximum(1, classes["capacity"][cls])
    if any(row.resizable for row in plan.classes):
        most = np.array([max(1, capacity_of(state, front, one)) for front, one in enumerate(cls.tolist())], np.int64)
    first = _places(fronts["base"], fronts["head"], in_slots(state, len(fronts)), most)
    below = [_places(one.base, one.head, one.held, one.room) for one in levels_below(state, len(fronts))]
    third = plan.design.row("transfer_bytes").waiting_blocks(state)
    fresh = [
        block
        for _, first_block, length in stretches(state, len(fronts))
        for block in stretch_blocks(first_block, length)
    ]
    found: I64 = np.concatenate([state.slots[np.concatenate([first, *below])], third, np.array(fresh, np.int64)])
    return found


def _places(base: I64, head: I64, count: I64, room: I64) -> I64:
    """Return the slots of `count` blocks in rings of `room` slots that begin at `base`, from `head` on."""
    owner = np.repeat(np.arange(len(base)), count)
    step = np.arange(len(owner)) - np.repeat(np.cumsum(count) - count, count)
    found: I64 = base[owner] + (head[owner] + step) % room[owner]
    return found
