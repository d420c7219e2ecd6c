"""Calendars: the times at which locks and cores are used, and what a user of them finds; for the clocks of threads."""

from heapsmith.model.compile.kernel import kernel
from heapsmith.model.predict.clock_state import CALENDAR, ClockState


@kernel
def first_after(state: ClockState, row: int, at: int) -> int:
    """Return the first entry of a calendar that ends after a time."""
    low, high = row * CALENDAR, row * CALENDAR + int(state.used[row])
    while low < high:
        middle = (low + high) // 2
        if state.ends[middle] > at:
            high = middle
        else:
            low = middle + 1
    return low


@kernel
def behind(state: ClockState, row: int) -> int:
    """Return where the entries of a calendar end."""
    return row * CALENDAR + int(state.used[row])


@kernel
def free_at(state: ClockState, row: int, at: int) -> int:
    """Return the first time from `at` on at which a calendar is free."""
    first = first_after(state, row, at)
    if first < behind(state, row) and state.begins[first] <= at:
        return int(state.ends[first])
    return at


@kernel
def overlap(state: ClockState, row: int, at: int, length: int) -> int:
    """Return for how long a use from a free time `at` on overlaps the entry behind it."""
    first = first_after(state, row, at)
    return max(0, at + length - int(state.begins[first])) if first < behind(state, row) else 0


@kernel
def end_of(state: ClockState, row: int, at: int, length: int) -> int:
    """Return when a use of `length` from `at` on ends if it takes all free time."""
    place, last = first_after(state, row, at), behind(state, row)
    while place < last and state.begins[place] < at + length:
        length -= max(0, int(state.begins[place]) - at)
        at = int(state.ends[place])
        place += 1
    return at + length


@kernel
def forget(state: ClockState, row: int) -> None:
    """Drop the older half of a calendar."""
    old, first = int(state.used[row]) // 2, row * CALENDAR
    for entry in range(first + old, behind(state, row)):
        state.begins[entry - old] = state.begins[entry]
        state.ends[entry - old] = state.ends[entry]
    state.used[row] -= old


@kernel
def move(state: ClockState, row: int, place: int, by: int) -> None:
    """Move the entries of a calendar from `place` on by `by` entries."""
    last = behind(state, row)
    for step in range(last - place):
        entry = last - 1 - step if by > 0 else place + step
        state.begins[entry + by] = state.begins[entry]
        state.ends[entry + by] = state.ends[entry]
    state.used[row] += by


@kernel
def book(state: ClockState, row: int, at: int, length: int) -> None:
    """Enter a use that takes all free time from `at` on; entries that touch become one."""
    if state.used[row] == CALENDAR:
        forget(state, row)
    first, last = first_after(state, row, at), behind(state, row)
    end = end_of(state, row, at, length)
    begin = min(at, int(state.begins[first])) if first < last and state.begins[first] < end else at
    if first > row * CALENDAR and state.ends[first - 1] == begin:
        first -= 1
        begin = int(state.begins[first])
    after = first
    while after < last and state.begins[after] <= end:
        end = max(end, int(state.ends[after]))
        after += 1
    if after != first + 1:
        move(state, row, after, first + 1 - after)
    state.begins[first] = begin
    state.ends[first] = end
