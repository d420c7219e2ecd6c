"""What a user asks of the search, and what is refused of it."""

from typing import NamedTuple

import msgspec

from heapsmith.model.design.design import Design
from heapsmith.model.design.legal import MAX_CLASSES
from heapsmith.model.errors import BadInput
from heapsmith.model.search import MOST_CLASSES
from heapsmith.model.search.choice import WEIGHTS, Favour, Limits
from heapsmith.model.search.confirm import Replays


class Asked(NamedTuple):
    """What a user asks of the search. seconds: its wall time, which it exceeds by a quarter at most. To read the traces
    and compile the model counts, but half is left in any case; None: by the trace's length, and that does not count.
    simulations: the most designs simulated with caches, in place of the time.

    max_overhead: the most bytes of idle blocks in fronts by the exact choice of capacities, as a
    fraction of the peak live bytes. huge_pages: the program touches all that it asks for, so that
    huge pages and populated pages are considered; they are too if each trace tells what was touched.
    latency: p99.9 is an objective of the front too, as with a limit of p99.9. cores: the
    number of cores for which waits for locks are predicted and added to the time; None: no waits. patient: Ctrl-C ends
    the search with the best so far. resume: begin with the outcomes of earlier searches.
    replays: what replays designs to confirm the choice. Its time, with that of building libraries, is REPLAY_SHARE of
    the search's: a part of `seconds`, and without them in addition, LEAST_REPLAY_SECONDS at least.
    """

    favour: Favour = "balanced"
    limits: Limits = Limits()
    max_overhead: float = 1.0
    max_classes: int = MOST_CLASSES
    huge_pages: bool = False
    latency: bool = False
    cores: int | None = None
    seconds: float | None = None
    simulations: int | None = None
    seed: int = 1
    resume: bool = False
    patient: bool = False
    jobs: int | None = None
    replays: Replays | None = None

    def timed(self) -> bool:
        """Say whether p99.9 is asked for."""
        return self.latency or self.limits.p999_ns is not None


USUAL = Asked()


def check_arguments(base: Design, asked: Asked, name: str) -> None:
    """Raise BadInput for arguments that `tune` refuses whatever the trace."""
    if asked.favour not in WEIGHTS:
        raise BadInput(f"favour: {asked.favour!r}; expected one of {', '.join(WEIGHTS)}")
    if not 0 < asked.max_overhead <= 1:
        raise BadInput(
            f"max overhead: {asked.max_overhead} is no fraction of peak live bytes; expected above 0, at most 1"
        )
    if not 1 <= asked.max_classes <= MAX_CLASSES:
        raise BadInput(f"max classes: {asked.max_classes} is out of range; expected 1 to {MAX_CLASSES}")
    if asked.simulations is not None and asked.simulations < 2:
        raise BadInput(f"simulations: {asked.simulations}; expected 2 or more: the base is one")
    if asked.cores is not None and asked.cores < 1:
        raise BadInput(f"cores: {asked.cores}; expected 1 or more")
    if asked.cores is not None and asked.replays is not None:
        raise BadInput("cores: expected no replays, which run on the cores of this machine")
    if asked.seconds is not None and not 0 < asked.seconds <= 86_400:
        raise BadInput(f"budget: {asked.seconds} s; expected above 0, at most a day")
    if refusal := msgspec.structs.replace(base, name=name).why_not_valid():
        raise BadInput(refusal.words)
