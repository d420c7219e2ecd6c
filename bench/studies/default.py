"""The default as an answer of the search: the least worst regret over real programs, with general size classes."""

import shutil
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Annotated, NamedTuple

import msgspec
import numpy as np
import typer

from heapsmith.bench.common.command import exit_with
from heapsmith.bench.programs.micro_programs import program
from heapsmith.bench.programs.micro_rows import MICRO, SERVERS
from heapsmith.bench.programs.programs import Program, programs, trace_of
from heapsmith.model.design.design import Design, load
from heapsmith.model.design.toml import Reason, write_design
from heapsmith.model.errors import BadInput
from heapsmith.model.memory.hardware import load_hardware
from heapsmith.model.search.choice import SLACK, WEIGHTS, scores
from heapsmith.model.search.draft import SLAB_BYTES, with_sizes
from heapsmith.model.search.evaluate import Evaluator
from heapsmith.model.search.exact import Exact
from heapsmith.model.search.explore import Budget, Explorer
from heapsmith.model.search.outcome import OBJECTIVES, Outcome, ratios
from heapsmith.model.search.pareto import Floats
from heapsmith.model.search.source import Source
from heapsmith.model.search.workers import Bench

TRAINING = (
    *("python", "cc1", "sqlite3", "perl", "redis", "z3", "ruby", "xmllint", "gawk", "jq", "dot", "service"),
    "realloc-large",
)
HELD_OUT = (
    *("lua", "php", "cc1plus", "redis-load", "node", "ripgrep", "repack", "git", "documents", "xsltproc", "make"),
    *("crowd", "phases"),
)
PATTERNS = ("realloc-large", "crowd", "phases")
"""Rows of the benchmark among them: buffers that grow, threads that come and go, a heap of one size after the other."""

SCALE = 0.25
"""The programs' inputs, in parts of the benchmark's."""

SMALL_LIMITS = (32_768, 16_384, 8192, 2048)
"""The largest classes to try; none is fitted to the traces."""


class General(Exact):
    """No demand of traces: the classes are those of the design up to a limit, and fronts have one setting for all."""

    def __init__(self, base: Design) -> None:
        self._base = base

    def shapes(self) -> Iterator[tuple[int, int]]:
        """Yield the slab sizes and small limits to try, those of the base first."""
        for slab_bytes in dict.fromkeys((self._base.slab_bytes, *SLAB_BYTES)):
            for limit in SMALL_LIMITS:
                if limit <= min(self._base.sizes[-1], slab_bytes // 2):
                    yield slab_bytes, limit

    def shaped(self, design: Design, slab_bytes: int, limit: int) -> Design | None:
        """Return the design with its classes up to a limit in slabs of this size, or None if it is not legal."""
        made = with_sizes(design, [size for size in design.sizes if size <= limit], slab_bytes)
        return made if made.why_not_valid() is None else None

    def fronted(self, design: Design, part: float) -> Design | None:
        """Return None: capacities for traces would be fitted to them."""
        return None

    def busy(self, design: Design) -> list[int]:
        """Return no class: none has a front of its own."""
        return []


class Candidate(NamedTuple):
    """A design, and its ratios to the base on each trace: a row of OBJECTIVES each."""

    design: Design
    ratios: Floats

    def scores(self) -> Floats:
        """Return the balanced score on each trace."""
        return scores(self.ratios, WEIGHTS["balanced"])


def recorded(names: Sequence[str], folder: Path) -> list[Path]:
    """Return the traces of the programs, recorded where the folder lacks them, without programs that are missing."""
    found = []
    for one in [*programs(folder / "inputs", scale=SCALE), *map(_pattern, PATTERNS)]:
        trace = folder / f"{one.name}.hst"
        if one.name not in names or (not trace.exists() and one.lacks()):
            continue
        if not trace.exists():
            recording = folder / f"{one.name}.recording"
            shutil.rmtree(recording, ignore_errors=True)
            trace_of(one, recording).rename(trace)
            shutil.rmtree(recording)
        found.append(trace)
    return found


def _pattern(name: str) -> Program:
    """Return a row of the benchmark as a program with its training input."""
    row = next(row for row in (*MICRO, *SERVERS) if row.name == name)
    built = program(row.program)
    return Program(name, built.name, [str(built), *row.training_words()], ())


def searched(traces: Sequence[Path], base: Design, simulations: int, seed: int) -> list[Candidate]:
    """Return the designs that a search over all traces simulated, the base first."""
    bench = Bench([Source(trace) for trace in traces], load_hardware())
    evaluator = Evaluator(bench, base, resume=True)
    with evaluator.workers:
        explorer = Explorer(evaluator, General(base), favour="balanced", huge_pages=True, seed=seed)
        explorer.limit(np.array([SLACK] * (len(OBJECTIVES) - 1) + [np.inf]))
        explorer.search(Budget(None, simulations))
    evaluator.write()
    known = list(explorer.known.values())
    return [_candidate(one.design, one.outcomes, known[0].outcomes) for one in known]


def _candidate(design: Design, outcomes: Sequence[Outcome], base: Sequence[Outcome]) -> Candidate:
    rows = [ratios(one.figures(), known.figures()) for one, known in zip(outcomes, base, strict=True)]
    return Candidate(design, np.array(rows))


def regrets(every: Sequence[Candidate]) -> Floats:
    """Return how much worse each design's score is than the best for the trace: a row for each design."""
    points = np.array([one.scores() for one in every])
    return np.asarray(points / points.min(axis=0) - 1)


def least_worst(every: Sequence[Candidate], *, never_worse: bool) -> int:
    """Return the design of the least worst regret.

    A helper thread takes a core that the model does not price, so a design with one is no answer. never_worse: only
    designs that take at most SLACK of the base's time, peak and average on each trace.
    """
    worst = regrets(every).max(axis=1)
    for index, one in enumerate(every):
        if one.design.background is not None or (never_worse and one.ratios[:, :3].max() > SLACK):
            worst[index] = np.inf
    return int(np.argmin(worst))


def on_held_out(designs: Sequence[Design], traces: Sequence[Path], base: Design) -> list[Candidate]:
    """Return designs on traces that the search did not see."""
    evaluator = Evaluator(Bench([Source(trace) for trace in traces], load_hardware()), base, resume=True)
    with evaluator.workers:
        known, *found = evaluator.priced([base, *designs], "held out")
    evaluator.write()
    return [_candidate(design, outcomes, known) for design, outcomes in zip(designs, found, strict=True)]


def _changes(design: Design, base: Design) -> str:
    """Return the fields in which a design differs from the base."""
    names = [name for name in Design.__struct_fields__ if name not in ("name", "about")]
    changed = [name for name in names if getattr(design, name) != getattr(base, name)]
    return ", ".join(f"{name} {_said(design, name)}" for name in changed) or "nothing"


def _said(design: Design, name: str) -> str:
    if name == "sizes":
        return f"up to {design.sizes[-1]}"
    return msgspec.json.encode(getattr(design, name)).decode()


def main(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="Where the traces are, or are recorded.")],
    out: Annotated[Path, typer.Option("-o", "--out", metavar="FILE", help="Where the candidate goes.")],
    simulations: Annotated[int, typer.Option(metavar="N", min=2, help="Designs to simulate.")] = 300,
    seed: Annotated[int, typer.Option(metavar="N", min=0, help="Which designs the search mixes.")] = 1,
) -> int:
    """Print the default, the design of the least worst regret, and that of those never worse, on each trace."""
    training, held_out = recorded(TRAINING, folder), recorded(HELD_OUT, folder)
    if not training:
        raise BadInput(f"none of these programs is here: {', '.join(TRAINING)}")
    base = msgspec.structs.replace(load("default"), name="candidate")
    every = searched(training, base, simulations, seed)
    worst = regrets(every).max(axis=1)
    picked = [0, least_worst(every, never_worse=False), least_worst(every, never_worse=True)]
    chosen = [every[index] for index in picked]
    unseen = on_held_out([one.design for one in chosen], held_out, base)
    titles = ("the default", "least worst regret", "least worst regret, never worse")
    for title, index, one, other in zip(titles, picked, chosen, unseen, strict=True):
        print(
            f"{title}: worst regret {worst[index]:.1%} of {len(every)} designs; changed: {_changes(one.design, base)}"
        )
        rows = [*zip(training, one.ratios, strict=True), *zip(held_out, other.ratios, strict=True)]
        for trace, row in rows if index else ():
            unused = "" if trace in training else " (held out)"
            print(f"  {trace.stem}{unused}: " + ", ".join(f"{n} {r:.3f}" for n, r in zip(OBJECTIVES, row, strict=True)))
    write_design(out, chosen[2].design, [Reason("design", "candidate", "the least worst regret over real programs")])
    return 0


if __name__ == "__main__":
    exit_with(main)
