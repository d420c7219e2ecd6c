"""The floor of a malloc without waste: what the alignment of blocks costs at least."""

from pathlib import Path

from replay_events import Event, write_trace

from heapsmith.bench.studies.floor import roundings
from heapsmith.model.trace.reader import Op


def test_requests_are_rounded_to_multiples_of_16(tmp_path: Path) -> None:
    """Blocks of 24, 0 and 32 bytes are short of 8, 16 and 0; a block that is resized is short of what it then lacks."""
    events: list[Event] = [(Op.MALLOC, 0, 1, 24), (Op.MALLOC, 0, 2, 0), (Op.ALIGNED, 0, 3, 32)]
    events += [(Op.REALLOC, 0, 1, 33), (Op.FREE, 0, 2, 0), (Op.FREE, 0, 1, 0)]
    trace = write_trace(tmp_path / "t.hst", events)
    live = [8, 24, 24, 31, 15, 0]
    for at, short in enumerate(live):
        assert roundings(trace, at) == (short, sum(live) / 6)
