"""Profiles: where the instructions of one design go, and counters per operation, beside callgrind's."""

import os
import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import NamedTuple, TypeAlias

import msgspec

from heapsmith.bench.experiments.book import Experiment
from heapsmith.bench.validate.validate import as_callgrind
from heapsmith.model.design.design import Design
from heapsmith.model.design.plan import make_plan
from heapsmith.model.memory.application import REPLAY
from heapsmith.model.memory.hardware import Hardware
from heapsmith.model.predict.cost import instructions_of, kinds
from heapsmith.model.predict.simulate import Simulation, simulate
from heapsmith.tools.common.counter_reports import read_report
from heapsmith.tools.peers.peers import Library
from heapsmith.tools.replay.callgrind import Caches, replay_counts, replay_profile
from heapsmith.tools.replay.replay import replay_once
from heapsmith.tools.replay.script import write_script

LAYERS = ("level 0", "level 1", "deeper levels", "store")
OF_CLASSES = ("hit0", "hit1", "refill")
"""Who serves a small allocation, and the counters of classes that tell it; hit2 and hit3 are totals."""

Groups: TypeAlias = dict[str, str]
"""Patterns of names by group; a name is in the first group that fits."""

FUNCTIONS: dict[str, Groups] = {
    "shares": {
        "hit path": r"malloc|malloc_above|free|alloc_\d+|free_\d+",
        "refill and flush": r".*_(miss|refill|fill|flush|spill|promote|drain|flushed)|hs_transfer_.*|empty|hs_flushed",
        "slabs": r"hs_take|hs_give|give_.*|slabs?_.*|choice_.*|empties_.*",
        "large blocks": r"runs?_.*|pages_.*|bins_.*|extents?_.*|ages_.*|huge_.*|.*_large.*|take_(low|top)|best_of"
        r"|.*release.*|os_.*",
        "the rest": ".*",
    },
    "dispatcher": {
        "dispatcher": "malloc|malloc_above|free|hs_free_small",
        "functions of the classes": r"alloc_\d+|free_\d+",
        "the rest": ".*",
    },
}
"""By profile, the library's functions. The dispatcher finds the function of a class, in designs that have these."""

SOURCES: Groups = {
    "guards": r".*(/span\.h|/hardening/.*|/foreign/.*) .*",
    "classify": r".*(/lookup/|/classifier/|/segregation/).* .*",
    "pointer chase": r".* (alloc|free)_\d+",
    "routing": r".*/fast\.c .*|.*/api\.c .*",
    "carve and refill": r".*(/6_slabs/|/8_threads/|/populate/).* .*",
    "metadata": r".*/[2-5]_[a-z_]+/.* .*",
    "the rest": ".*",
}
"""The log's groups, by source file and function, of a design whose malloc and free call functions of the classes."""

KINDS: dict[str, Groups] = {
    "shares": {
        "hit path": "alloc|free|lookup|dispatch|count",
        "refill and flush": "refill|flush|transfer|spill|promote|remote|lent",
        "slabs": "take|give|slab",
        "large blocks": "run|huge|release",
        "the rest": ".*",
    },
}
"""By profile, the kinds of the price by their first word, where the price tells the groups apart."""


class Figure(msgspec.Struct, frozen=True):
    """A quantity of one design or peer; None: the model, or callgrind, does not tell. bounds: of rounds."""

    quantity: str
    predicted: float | None
    measured: float | None
    bounds: tuple[float, float] | None = None


class Profile(msgspec.Struct, frozen=True, tag=True):
    """The figures of an arm on a workload; of `shares` they are parts of all instructions."""

    experiment: str
    workload: str
    arm: str
    figures: list[Figure]


class Arm(NamedTuple):
    """A design or, if that is None, a peer; and its libraries, one for a profile. None of them: predict alone."""

    name: str
    design: Design | None
    libraries: list[Path | None]

    @property
    def library(self) -> Path | None:
        """The library of a profile."""
        return self.libraries[0] if self.libraries else None


class Recording(NamedTuple):
    """A trace, its replay script, and its operations."""

    trace: Path
    script: Path
    operations: int


def profiled(
    name: str, one: Experiment, workload: str, trace: Path, arms: Sequence[Arm], hardware: Hardware
) -> list[Profile]:
    """Return the profile of each arm on a replay of the trace. Raises Missing without valgrind."""
    script = trace.with_suffix(".script")
    recording = Recording(trace, script, write_script(trace, script).operations)
    asked: str = one.profile or ""
    others: dict[str, Callable[[Recording, Arm, Hardware], list[Figure]]] = {
        "layers": _layers,
        "counters": _counters,
        "groups": _groups,
    }
    figures = others.get(asked, partial(_shares, asked))
    return [Profile(name, workload, arm.name, figures(recording, arm, hardware)) for arm in arms]


def _shares(profile: str, of: Recording, arm: Arm, hardware: Hardware) -> list[Figure]:
    """Return each group's share of the library's instructions."""
    functions, words = FUNCTIONS[profile], KINDS.get(profile)
    measured = dict.fromkeys(functions, 0.0)
    own = replay_profile(of.script, arm.library).own if arm.library else {}
    for (where, function), costs in own.items():
        if where == str(arm.library):
            measured[_group(functions, function)] += costs["Ir"]
    predicted = dict.fromkeys(functions, 0.0)
    if arm.design is not None and words is not None:
        each = instructions_of(hardware)
        for kind, count in kinds(make_plan(arm.design), _simulated(of, arm.design, hardware)).items():
            predicted[_group(words, kind.partition(".")[0])] += count * each[kind]
    return [Figure(group, _share(predicted, group), _share(measured, group)) for group in functions]


def _groups(of: Recording, arm: Arm, _hardware: Hardware) -> list[Figure]:
    """Return the share of each of the log's groups, which are not those of the price."""
    measured = dict.fromkeys(SOURCES, 0.0)
    sources = replay_profile(of.script, arm.library).sources if arm.library else {}
    for (where, source, function), costs in sources.items():
        if where == str(arm.library):
            measured[_group(SOURCES, f"{source} {function}")] += costs["Ir"]
    return [Figure(group, None, _share(measured, group)) for group in SOURCES]


def _share(of: dict[str, float], group: str) -> float | None:
    total = sum(of.values())
    return of[group] / total if total else None


def _group(groups: Groups, name: str) -> str:
    return next(group for group, pattern in groups.items() if re.fullmatch(pattern, name))


def _counters(of: Recording, arm: Arm, hardware: Hardware) -> list[Figure]:
    """Return counters per operation; callgrind knows instructions and misses of two levels."""
    simulated = as_callgrind(hardware)
    measured: dict[str, float] = {}
    if arm.library:
        counted = replay_counts(of.script, arm.library, Caches(simulated.l1, simulated.llc, simulated.line_bytes))
        measured = {
            "instructions": counted.instructions,
            "misses of the first level": counted.d1_misses,
            "misses of the last level": counted.ll_misses,
            **_branches(of.script, arm.library),
        }
    predicted: dict[str, float] = {}
    if arm.design is not None:
        its, real = (_simulated(of, arm.design, one) for one in (simulated, hardware))
        assert its.touches is not None
        assert real.touches is not None
        assert real.price is not None
        predicted = {
            "instructions": real.price.instructions_per_op * of.operations,
            "misses of the first level": its.touches.l1_misses,
            "misses of the last level": its.touches.llc_misses,
            "misses of the TLB's first level": real.touches.tlb1_misses,
            "page walks": real.touches.tlb2_misses,
            "page faults": real.touches.faults_4k + real.touches.faults_2m,
            "mispredicted branches": real.touches.mispredicted,
        }
    each = [{name: count / of.operations for name, count in counts.items()} for counts in (predicted, measured)]
    found = [Figure(name, each[0].get(name), each[1].get(name)) for name in dict.fromkeys((*measured, *predicted))]
    if measured:
        found.append(Figure("mispredicted of branches", None, measured["mispredicted branches"] / measured["branches"]))
    return found


def _branches(script: Path, library: Path) -> dict[str, float]:
    """Return the library's branches and those that callgrind's predictor misses."""
    found = dict.fromkeys(("branches", "mispredicted branches"), 0.0)
    for (where, _), costs in replay_profile(script, library, branches=True).own.items():
        if where == str(library):
            found["branches"] += costs["Bc"] + costs["Bi"]
            found["mispredicted branches"] += costs["Bcm"] + costs["Bim"]
    return found


def _layers(of: Recording, arm: Arm, hardware: Hardware) -> list[Figure]:
    """Return the shares of the small allocations that each level of the fronts served, and the store."""
    predicted: Sequence[float | None] = [None] * len(LAYERS)
    measured: Sequence[float | None] = [None] * len(LAYERS)
    if arm.design is not None:
        found = _simulated(of, arm.design, hardware).counters
        predicted = _served({name: sum(found.classes[name]) for name in OF_CLASSES} | found.totals)
    if arm.library:
        measured = _served(_counted(of.script, Library(arm.name, arm.library)))
    return [Figure(*each) for each in zip(LAYERS, predicted, measured, strict=True)]


def _counted(script: Path, library: Library) -> Mapping[str, int]:
    """Return the counters of a library that counts all, each summed over its classes."""
    counts = script.with_suffix(".counts")
    replay_once(script, library, env={**os.environ, "HEAPSMITH": f"stats={counts}"})
    found: Counter[str] = Counter()
    for one in read_report(counts).counts:
        found[one.name] += one.count
    return found


def _served(counts: Mapping[str, int]) -> list[float]:
    """Return the shares of LAYERS. Of the counts, hit1 has what each level below the first served."""
    deep = counts["hit2"] + counts["hit3"]
    each = [counts["hit0"], counts["hit1"] - deep, deep, counts["refill"]]
    return [count / sum(each) for count in each]


def _simulated(of: Recording, design: Design, hardware: Hardware) -> Simulation:
    return simulate(of.trace, [design], hardware=hardware, application=REPLAY).rows[0]
