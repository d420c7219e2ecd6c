"""The experiments as their file states them, and the check that their arms differ as stated."""

import difflib
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any, Literal

import msgspec

from heapsmith.model.design.design import Design, changed, load
from heapsmith.model.design.plan import make_plan
from heapsmith.model.errors import BadInput
from heapsmith.model.toml_text import from_toml, read_text

FILE = Path(__file__).with_name("experiments.toml")
OUTSIDE = ("design", "hash", "layout")
"""Fields of a Plan that follow from the design's name, or from sizes that the plan states too."""

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
    """One side of an experiment: changes to the experiment's design, or a peer (docs/peers.md)."""

    name: str
    design: dict[str, Any] = {}
    peer: str = ""


class Claim(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What the log says: its words, and the sign of the last arm's change of a quantity."""

    text: str
    quantity: Quantity = "cpu"
    sign: Literal["less", "more", "same"] = "less"


class Experiment(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Two or more arms on workloads. The first arm is the reference.

    profile: instead of comparing times, show where the instructions of each arm go (shares;
    dispatcher: what finds the function of a class), or its counters per operation (counters); then
    one arm is enough.

    varies: the design fields in which the arms differ. follows: fields of the Plan that differ as a
    consequence. base: changes to the design `default` that all arms share. why: one paragraph, if
    the result here is not what the log says.
    """

    about: str
    claim: Claim
    workloads: list[str]
    arms: Annotated[list[Arm], msgspec.Meta(min_length=1)]
    profile: Literal["shares", "dispatcher", "counters"] | None = None
    varies: list[str] = []
    follows: list[str] = []
    base: dict[str, Any] = {}
    why: str = ""


class Book(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """All workloads and experiments, by name."""

    workloads: dict[str, Workload]
    experiments: dict[str, Experiment]

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
    base = load("default")
    return {
        arm.name: changed(base, f"{name.lower()}-{arm.name}", {**one.base, **arm.design})
        for arm in one.arms
        if not arm.peer
    }


def differences(first: Design, second: Design) -> tuple[dict[str, tuple[Any, Any]], list[str]]:
    """Return what differs: design fields with both values, and fields of the Plan."""
    one, other = (_flat("", msgspec.to_builtins(design)) for design in (first, second))
    fields = {
        key: (one.get(key), other.get(key))
        for key in sorted(one.keys() | other.keys())
        if one.get(key) != other.get(key) and key not in ("name", "about")
    }
    plans = [_plan_fields(design) for design in (first, second)]
    return fields, sorted(key for key in plans[0] | plans[1] if plans[0].get(key) != plans[1].get(key))


def faults(name: str, one: Experiment) -> list[str]:
    """Return in which respects the arms differ otherwise than stated; empty if in none."""
    designs = designs_of(name, one)
    if not designs or not one.varies:
        return []
    found: list[str] = []
    (reference, first), *others = designs.items()
    for arm, design in others:
        fields, follows = differences(first, design)
        where = f"{name}: {reference} and {arm}"
        found += [
            f"{where} differ in {key} too: {a} and {b}" for key, (a, b) in fields.items() if not _in(key, one.varies)
        ]
        found += [
            f"{where} do not differ in {key}" for key in one.varies if not any(_in(field, [key]) for field in fields)
        ]
        stated = [*one.varies, *one.follows]
        found += [
            f"{where}: the plan's {key} differs, which `follows` does not say"
            for key in follows
            if not _in(key, stated)
        ]
        if hasattr(first.row("thp"), "BY_PLACE") and not _in("thp", one.varies):
            found.append(f"{where}: thp 'grown' acts by the place of memory, which differs: state thp")
    return found


def _in(key: str, stated: Sequence[str]) -> bool:
    return any(key == one or key.startswith(f"{one}.") for one in stated)


def _flat(prefix: str, value: Any) -> dict[str, Any]:
    """Return the leaves of nested tables by dotted path; lists are leaves."""
    if not isinstance(value, dict):
        return {prefix: value}
    parts = [_flat(f"{prefix}.{key}".lstrip("."), inner) for key, inner in value.items()]
    return {key: leaf for part in parts for key, leaf in part.items()}


def _plan_fields(design: Design) -> dict[str, Any]:
    """Return the fields of the Plan; those of classes by `class.<field>` as lists over classes."""
    plan = msgspec.to_builtins(make_plan(design))
    plan |= _flat("numbers", plan.pop("numbers"))
    classes = [_flat("class", row) for row in plan.pop("classes")]
    by_class = {key: [row.get(key) for row in classes] for key in classes[0]}
    return {key: value for key, value in plan.items() if key not in OUTSIDE} | by_class
