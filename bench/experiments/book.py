"""The experiments as their file states them, and the check that their arms differ as stated."""

import difflib
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any, Literal

import msgspec

from heapsmith.model.design.design import Design, changed, load
from heapsmith.model.errors import BadInput
from heapsmith.model.toml_text import from_toml, read_text

FILE = Path(__file__).with_name("experiments.toml")
BASE = FILE.with_name("base.toml")

Quantity = Literal[
    "cpu", "wall", "rss", "faults", "superslabs", "slabs", "system_calls", "refills", "locks", "lock_waits", "futex"
]
"""cpu, wall: time of the program's own loop; rss: peak; the rest are counts. Less is better.

The last three need arms that count everything, and a workload of bench/programs/micro.
"""


class Workload(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A program of bench/programs/micro with its arguments, or a recorded program by its name.

    work: the first argument of a micro-program, in its own units; --quick divides it by QUICK.
    """

    about: str
    micro: str = ""
    arguments: str = ""
    work: int = 0
    threads: int = 1
    recorded: str = ""


class Arm(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One side of an experiment: changes to the experiment's design, or a peer (docs/compare.md).

    gates: the laboratory puts run-time gates into the design's C (bench/experiments/gated.py).
    """

    name: str
    design: dict[str, Any] = {}
    gates: Literal["", "each", "snapshot"] = ""
    peer: str = ""


Sign = Literal["less", "more", "same"]


class RowClaim(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The log's figure for an arm, a workload or both, where it differs; no sign: it claims nothing."""

    workload: str = ""
    arm: str = ""
    text: str = ""
    sign: Sign | None = None


class Claim(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The log's figure in its words, and the sign of the arms' change of a quantity.

    Without words the log has no figure, and no row a verdict.
    """

    text: str = ""
    quantity: Quantity = "cpu"
    sign: Sign | None = "less"
    rows: list[RowClaim] = []

    def of(self, workload: str, arm: str) -> RowClaim:
        """Return the claim on one row of the table."""
        for row in self.rows:
            if row.workload in ("", workload) and row.arm in ("", arm):
                return row
        return RowClaim(text=self.text, sign=self.sign if self.text else None)


class Experiment(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Two or more arms on workloads. The first arm is the reference.

    profile: instead of comparing times, show where the instructions of each arm go (shares: by
    function; groups: by the log's groups; dispatcher: what finds the function of a class), or its
    counters per operation (counters), or which level of the fronts served (layers: of arms that count
    everything), or how its throughput grows from each workload to the next, which has more threads
    (scaling). One arm is enough then.

    varies: the design field in which the arms differ; together: if they are several, why the log
    changed them together. follows: fields of the Plan that differ as a consequence. base: changes to
    base.toml that all arms share. figures: the log's of a profile, by quantity or `arm: quantity`. why: one
    paragraph, if the result here is not what the log says, or what the log had and no design states.
    bench/experiments/fair.py refuses unfair arms.
    """

    about: str
    claim: Claim
    workloads: list[str]
    arms: Annotated[list[Arm], msgspec.Meta(min_length=1)]
    profile: Literal["shares", "groups", "dispatcher", "counters", "layers", "scaling"] | None = None
    varies: list[str] = []
    together: str = ""
    follows: list[str] = []
    base: dict[str, Any] = {}
    figures: dict[str, str] = {}
    why: str = ""


class Workflow(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What the log did for each release, without a figure: how it is done here, and what of it is not."""

    about: str
    log: str
    here: str
    lacks: str


class Book(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """All workloads, experiments and workflows, by name."""

    workloads: dict[str, Workload]
    experiments: dict[str, Experiment]
    workflows: dict[str, Workflow] = {}

    def chosen(self, names: Sequence[str]) -> list[str]:
        """Return the names of experiments; `all`, or no name, is all. BadInput for an unknown."""
        for name in names:
            if name != "all" and name not in self.experiments:
                near = difflib.get_close_matches(name.upper(), self.experiments, n=1)
                raise BadInput(f"{name}: no such experiment{f'; did you mean {near[0]}?' if near else ''}")
        return [name for name in self.experiments if not names or "all" in names or name in names]


def book(path: Path = FILE) -> Book:
    """Return the experiments of a file. BadInput names the file, the field and the expectation."""
    found: Book = from_toml(read_text(path, str(path)), str(path), Book, str)
    for name, one in found.experiments.items():
        if len(one.arms) < 2 and one.profile is None:
            raise BadInput(f"{path}: experiments.{name}.arms: one arm; expected two or more")
        if one.profile and any(arm.peer == "glibc" for arm in one.arms):
            raise BadInput(f"{path}: experiments.{name}.arms: glibc's malloc is not told apart from the rest of libc")
        for workload in one.workloads:
            if workload not in found.workloads:
                raise BadInput(f"{path}: experiments.{name}.workloads: there is no workload '{workload}'")
    return found


def designs_of(name: str, one: Experiment) -> dict[str, Design]:
    """Return the design of each arm that is no peer; BadInput if one is invalid."""
    base = load(str(BASE))
    return {
        arm.name: changed(base, f"{name.lower()}-{arm.name}", {**one.base, **arm.design})
        for arm in one.arms
        if not arm.peer
    }
