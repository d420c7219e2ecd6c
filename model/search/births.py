"""Births: what a recorded program writes of its new blocks, where its run was too short for it to have written all."""

from collections.abc import Callable, Iterator, Sequence

import msgspec

from heapsmith.model.constants import PAGE
from heapsmith.model.design.design import Design
from heapsmith.model.memory import Part
from heapsmith.model.search.outcome import LEAST_OPERATION_NS, Outcome
from heapsmith.model.search.source import Source
from heapsmith.model.search.workers import Bench, Task, measured

PARTS: tuple[Part, ...] = ("all", "pages", "ends", "none")
"""From most to least."""

SUSPECT = 0.25
"""Where the first touches of all pages would take less than this part of the run, blocks may well be written whole."""


def learn(bench_of: Callable[[Sequence[Source]], Bench], sources: Sequence[Source], base: Design) -> None:
    """Set the births of each source to the most that fits into the processor time of its run under the base.

    The samples of a trace tell what was touched of large blocks alone. Nothing is learned from times that no program
    can have.
    """
    for source in sources:
        bench = bench_of([source])
        for part in _suspects(bench, source):
            source.application = msgspec.structs.replace(source.application, births=part)
            found = measured(bench, Task(base, 0, "outcome"))
            assert isinstance(found, Outcome)
            if found.run_share() is not None:
                break


def _suspects(bench: Bench, source: Source) -> Iterator[Part]:
    """Yield the parts to try; none where the run is long enough for all, or its times are no evidence."""
    pages_ns = source.touched / PAGE * bench.hardware.costs["fault.4k"]
    if source.run_ns > LEAST_OPERATION_NS * source.operations and pages_ns > SUSPECT * source.run_ns:
        yield from PARTS
