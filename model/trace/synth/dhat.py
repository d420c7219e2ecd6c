"""DHAT's JSON (valgrind --tool=dhat), file version 2: Valgrind's dhat/dh_main.c writes it."""

import msgspec

from heapsmith.model.errors import BadInput
from heapsmith.model.trace.imports.source import Source
from heapsmith.model.trace.synth.sums import Profile, Site


class _Point(msgspec.Struct):
    """A program point: total bytes and blocks, the sum of their lifetimes."""

    tb: float
    tbk: float
    tl: float = 0.0
    ebk: float = 0.0  # blocks live at the end


class _File(msgspec.Struct):
    dhat_version: int = msgspec.field(name="dhatFileVersion")
    mode: str
    te: float  # the time at the end, in units of `tl`
    pps: list[_Point]
    bklt: bool = True  # whether the profile has lifetimes


def read(source: Source) -> Profile:
    """Return the points of a profile of the heap; BadInput names the field that is wrong.

    A point's blocks live `tl` units of time together. So `tl / te` of them live at one time, on average.
    """
    try:
        file = msgspec.json.decode(source.read(-1), type=_File)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise BadInput(f"{source.path}: {error}") from None
    if file.mode != "heap" or file.dhat_version != 2:
        raise BadInput(
            f"{source.path}: mode {file.mode!r} of version {file.dhat_version}; expected 'heap' of version 2"
        )
    if file.te <= 0 or not file.bklt:
        raise BadInput(f"{source.path}: te: expected lifetimes, and a time at the end above 0")
    sites = [Site(point.tbk, point.tb, point.tl / file.te) for point in file.pps]
    return Profile(sites, ["births come at one rate from the beginning to the end"])
