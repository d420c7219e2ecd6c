"""The age queue of empty slabs, and the pages that leave it for the OS; docs/machine-rooms.md, 'release'."""

from heapsmith.model.compile.kernel import kernel
from heapsmith.model.memory import layout
from heapsmith.model.memory.layout import slab_at
from heapsmith.model.memory.state import State
from heapsmith.model.memory.touches import gone, touch
from heapsmith.model.parts.age import SLAB_AGE, join, leave
from heapsmith.model.parts.block_questions import map_is_released
from heapsmith.model.parts.committed import uncommit
from heapsmith.model.parts.slab_questions import release_goes, slab_stamp, stamp_slab


@kernel
def slab_goes(state: State, went: int) -> bool:
    """Return whether the oldest slab of the age queue gives its pages back; `went` of this event did."""
    aged, budget, least = state.aged_slab_bytes, state.slab_budget_bytes, state.share_slab_bytes
    return bool(release_goes(state, aged, budget, least, slab_stamp(state, went), went))


@kernel
def join_age_queue(state: State, slab: int) -> None:
    """Make an empty slab the newest of the age queue; the library has it only to release."""
    newest = int(state.scalars[SLAB_AGE]["newest"])
    if state.aging == 1:
        touch(state.listener, slab_at(state, slab) + layout.SLAB_NEWER, 1)
        touch(state.listener, slab_at(state, slab) + layout.SLAB_OLDER, 1)
        if newest >= 0:
            touch(state.listener, slab_at(state, newest) + layout.SLAB_NEWER, 1)
    stamp_slab(state, slab)
    join(state.slabs, state.scalars, SLAB_AGE, slab)
    state.aged_slab_bytes += state.slabs[slab]["committed"]


@kernel
def leave_age_queue(state: State, slab: int) -> None:
    """Take an empty slab with committed bytes out of the age queue."""
    if state.aging == 1:
        older, newer = int(state.slabs[slab]["older"]), int(state.slabs[slab]["newer"])
        touch(state.listener, slab_at(state, slab) + layout.SLAB_NEWER, 0)
        touch(state.listener, slab_at(state, slab) + layout.SLAB_OLDER, 0)
        touch(state.listener, slab_at(state, slab) + layout.SLAB_CLASS_NUMBER, 1)
        if older >= 0:
            touch(state.listener, slab_at(state, older) + layout.SLAB_NEWER, 1)
        if newer >= 0:
            touch(state.listener, slab_at(state, newer) + layout.SLAB_OLDER, 1)
    leave(state.slabs, state.scalars, SLAB_AGE, slab)
    state.aged_slab_bytes -= state.slabs[slab]["committed"]


@kernel
def release_slab(state: State, slab: int) -> None:
    """Give the pages of an empty slab to the OS; it leaves the age queue and stays in its pool."""
    leave_age_queue(state, slab)
    touch(state.listener, slab_at(state, slab), 1)
    touch(state.listener, layout.TOTAL_RELEASES, 1)
    touch(state.listener, layout.TOTAL_COMMITTED, 1)
    gone(state.listener, layout.SPAN + int(state.slabs[slab]["place"]) * state.slab_bytes, state.slab_bytes)
    map_is_released(state, int(state.slabs[slab]["place"]))
    state.releases += 1
    state.released_bytes += state.slabs[slab]["committed"]
    uncommit(state, int(state.slabs[slab]["committed"]))
    state.slabs[slab]["committed"] = 0


@kernel
def release_slabs(state: State) -> None:
    """Release the oldest slabs of the age queue that are due."""
    went = 0
    while slab_goes(state, went):
        release_slab(state, int(state.scalars[SLAB_AGE]["oldest"]))
        went += 1
