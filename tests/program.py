"""A program of few events on one simulator, for cases worked by hand."""

from collections.abc import Sequence
from typing import Any

import pytest

from heapsmith.model.constants import NS_PER_MS
from heapsmith.model.design.choices import Front
from heapsmith.model.design.design import Design
from heapsmith.model.design.plan import make_plan
from heapsmith.model.heap.simulator import Simulator
from heapsmith.model.policy.front import none as front_none
from heapsmith.model.trace.reader import Op

NONE = front_none.Params()
RUN, HUGE = 1 << 60, 1 << 61
SMALL: dict[str, Any] = {"slab_bytes": 4096, "superslab_bytes": 16384, "huge_bytes": 65536}

plain_and_compiled = pytest.mark.parametrize("compiled", [False, True], ids=["plain", "compiled"])


class Program:
    """A program on one simulator: blocks go by the names that the case gives them, allocations return addresses.

    ms: the time of the next events, which the case may set. nodes: the processors of each node.
    """

    def __init__(
        self, compiled: bool, sizes: list[int], front: Front = NONE, nodes: Sequence[str] = (), **fields: Any
    ) -> None:
        design = Design("case", sizes, front=front, **{**SMALL, **fields})
        assert design.why_not_valid() is None
        self.plan = make_plan(design)
        self.simulator = Simulator(self.plan, compiled=compiled, nodes=nodes)
        self.live: dict[str, int] = {}
        self.spare = list(range(999, -1, -1))
        self.ms = 0

    def malloc(self, names: str, size: int, thread: int = 0, op: Op = Op.MALLOC, align_log2: int = 0) -> Any:
        """Allocate one block per name (letters, or words apart); the address, or the list of them."""
        found = []
        for name in names.split() if " " in names else [names]:
            self.live[name] = self.spare.pop()
            found.append(self.simulator.step(op, thread, self.live[name], size, align_log2, self.ms * NS_PER_MS))
        return found if " " in names else found[0]

    def aligned(self, name: str, align_log2: int, size: int) -> Any:
        return self.malloc(name, size, op=Op.ALIGNED, align_log2=align_log2)

    def realloc(self, name: str, size: int, thread: int = 0) -> int:
        return self.simulator.step(Op.REALLOC, thread, self.live[name], size, time_ns=self.ms * NS_PER_MS)

    def free(self, names: str, thread: int = 0) -> None:
        for name in names.split():
            block = self.live.pop(name)
            assert self.simulator.step(Op.FREE, thread, block, time_ns=self.ms * NS_PER_MS) == -1
            self.spare.append(block)

    def exit(self, thread: int) -> None:
        assert self.simulator.step(Op.THREAD_EXIT, thread, 0, time_ns=self.ms * NS_PER_MS) == -1

    def counts(self, cls: int, *names: str) -> tuple[int, ...]:
        self.simulator.check()
        return tuple(self.simulator.counters().classes[name][cls] for name in names)

    def reported(self, *names: str) -> tuple[int, ...]:
        """Sums over the classes of what the design's policies report."""
        self.simulator.check()
        return tuple(sum(self.simulator.counters().classes[name]) for name in names)

    def totals(self, *names: str) -> tuple[int, ...]:
        self.simulator.check()
        return tuple(self.simulator.counters().totals[name] for name in names)
