"""DHAT's JSON, file version 2: Valgrind's dhat/dh_main.c writes it, and Rust's crate dhat."""

from typing import Annotated

import msgspec

from heapsmith.model.errors import BadInput
from heapsmith.model.files import JSON_FAULTS
from heapsmith.model.trace.imports.source import Source
from heapsmith.model.trace.synth.sums import Profile, Site

MODES = ("heap", "rust-heap")
"""Of Valgrind and of the crate; the others, such as copy, ad-hoc and rust-ad-hoc, count no blocks."""
_Sum = Annotated[float, msgspec.Meta(ge=0, le=2.0**63)]


class _Point(msgspec.Struct):
    """A program point: total bytes and blocks, the sum of their lifetimes."""

    tb: _Sum
    tbk: _Sum
    tl: _Sum = 0.0


class _File(msgspec.Struct):
    dhat_version: int = msgspec.field(name="dhatFileVersion")
    mode: str
    te: _Sum  # the time at the end, in units of `tl`
    pps: list[_Point]
    bklt: bool = True  # whether the profile has lifetimes


def read(source: Source) -> Profile:
    """Return the points of a profile of the heap; BadInput names the field that is wrong.

    A point's blocks live `tl` units of time together. So `tl / te` of them live at one time, on average.
    """
    try:
        file = msgspec.json.decode(source.read(-1), type=_File)
    except JSON_FAULTS as error:
        raise BadInput(f"{source.name}: {error}") from None
    if file.mode not in MODES or file.dhat_version != 2:
        known = " or ".join(map(repr, MODES))
        raise BadInput(
            f"{source.name}: mode {file.mode!r} of version {file.dhat_version} has no sums of blocks of the heap that "
            f"are known; expected {known} of version 2"
        )
    if file.te <= 0 or not file.bklt:
        raise BadInput(f"{source.name}: te: expected lifetimes, and a time at the end above 0")
    sites = [Site(point.tbk, point.tb, point.tl / file.te) for point in file.pps]
    return Profile(sites, ["births come at one rate from the beginning to the end"])
