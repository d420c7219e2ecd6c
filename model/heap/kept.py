"""Huge mappings that wait for another request: a FIFO, the oldest first; docs/machine.md section 8."""

from heapsmith.model.compile.kernel import kernel
from heapsmith.model.constants import HUGE_KEPT_MAPPINGS, PAGE
from heapsmith.model.memory import layout
from heapsmith.model.memory.state import State
from heapsmith.model.memory.touches import touch


@kernel
def put_kept(state: State, block: int, pages: int) -> None:
    """Make a freed mapping the newest that waits."""
    state.kept_clock += 1
    state.kept[state.kept_mappings]["block"] = block
    state.kept[state.kept_mappings]["pages"] = pages
    state.kept[state.kept_mappings]["stamp"] = state.kept_clock
    state.kept_mappings += 1
    state.kept_pages += pages


@kernel
def oldest_goes(state: State) -> bool:
    """Return whether the oldest has waited long enough, or too many wait."""
    if state.kept_mappings == 0:
        return False
    if state.limit_mark_bytes > 0:
        touch(state.listener, layout.TOTAL_COMMITTED, 0)
        if state.committed > state.limit_mark_bytes:
            return True
    many = state.kept_mappings > HUGE_KEPT_MAPPINGS or state.kept_pages * PAGE > state.huge_kept_bytes
    return many or state.kept_clock - int(state.kept[0]["stamp"]) >= state.huge_delay


@kernel
def fitting(state: State, pages: int) -> int:
    """Return the place of the newest mapping that fits a request; -1 if there is none."""
    most = pages + pages * state.huge_slack_percent // 100
    for place in range(state.kept_mappings - 1, -1, -1):
        state.huge_looked_at += 1
        if pages <= state.kept[place]["pages"] <= most:
            return place
    return -1


@kernel
def leave_kept(state: State, place: int) -> None:
    """Take a mapping out."""
    state.kept_mappings -= 1
    state.kept_pages -= state.kept[place]["pages"]
    state.huge_moved += state.kept_mappings - place
    for index in range(place, state.kept_mappings):
        state.kept[index]["block"] = state.kept[index + 1]["block"]
        state.kept[index]["pages"] = state.kept[index + 1]["pages"]
        state.kept[index]["stamp"] = state.kept[index + 1]["stamp"]
