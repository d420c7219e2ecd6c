"""The result of `heapsmith profile` for people."""

from typing import TYPE_CHECKING

from heapsmith.api import show

if TYPE_CHECKING:  # the modules of these types need numba, which a command imports only when it runs
    from heapsmith.tools.sampled.estimates import Estimate
    from heapsmith.tools.sampled.profile import Profile, Row


def profile(found: "Profile", top: int) -> None:
    """The live heap by site, each figure with its interval; in a window, growth and bytes asked for per second."""
    from heapsmith.tools.common.units import amount

    window = found.seconds is not None
    since = f"in {found.seconds:.1f} s" if window else "since the start"
    show.prose(
        f"Process {found.pid} under {found.design}: {_said(found.total.live_bytes)} live, {found.total.samples:,} "
        f"samples of blocks, one each {amount(found.mean_bytes)} on average. In brackets: 95 % intervals."
    )
    columns = ["site", *(["growth", ""] if window else []), "live", "", "blocks", f"asked for {since}", ""]
    show.table("", columns, [_cells(row, window) for row in [found.total, *found.rows[:top]]])
    if not found.taken:
        show.note("heapsmith: no sample was taken so far: sampling is off, or the process asked for little memory")
    if found.dropped:
        show.note(f"heapsmith: {found.dropped:,} samples of live blocks had no room: the live bytes are too low")
    if found.unsited:
        show.note(f"heapsmith: the call stacks of {found.unsited:,} samples had no room: they are under unknown")
    for reason in found.reasons:
        show.note(f"heapsmith: {reason}")


def _cells(row: "Row", window: bool) -> list[str]:
    growth = _both(row.growth_bytes) if window and row.growth_bytes else []
    return [row.name, *growth, *_both(row.live_bytes), f"{row.live_blocks.value:,.0f}", *_both(row.allocated_bytes)]


def _both(of: "Estimate") -> list[str]:
    from heapsmith.tools.common.units import amount

    return [amount(of.value), f"[{amount(of.low)}, {amount(of.high)}]"]


def _said(of: "Estimate") -> str:
    return " ".join(_both(of))
