"""Callgrind: a replay's instructions and simulated cache misses, by object and function."""

import re
from collections import Counter, defaultdict
from collections.abc import Iterable
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

import msgspec

from heapsmith.model.design.plan import Plan
from heapsmith.model.errors import BadInput, CheckFailed
from heapsmith.model.files import scratch
from heapsmith.model.memory.hardware import Level
from heapsmith.tools.common.valgrind import callgrind
from heapsmith.tools.peers.peers import replay_driver
from heapsmith.tools.replay.script import script_of_nothing

LIMIT_S = 600.0
MOVERS = re.compile("mem(set|cpy|move|cmp|chr)")
"""Functions of libc for a block's bytes; the calls from the library are counted separately."""

NO_LOOP = frozenset({"rss_anon_bytes", "spent_by", "clock_ns", "watchdog_tick", "faults", "progress"})
"""Functions of the replay driver that run in its pauses, outside its loop."""

Costs = Counter[str]
"""Costs by event."""


class Caches(NamedTuple):
    """The two levels that callgrind simulates; each has a power of two of sets."""

    first: Level
    last: Level
    line_bytes: int = 64

    def options(self) -> list[str]:
        """callgrind's options."""
        named = (("D1", self.first), ("LL", self.last))
        return ["--cache-sim=yes", *(f"--{name}={one.bytes},{one.ways},{self.line_bytes}" for name, one in named)]


class Profile(NamedTuple):
    """A callgrind.out file: costs by (object, function) and inclusive by (caller, function).

    sources: costs by (object, source file, function). Inlined code is of its own file and of the function
    that it is inlined in; `???` without debug information.
    """

    events: list[str]
    own: dict[tuple[str, str], Costs]
    called: dict[tuple[str, str], Costs]
    sources: dict[tuple[str, str, str], Costs]


class Counted(msgspec.Struct, frozen=True):
    """The cost of one replay, minus the cost of a replay without events.

    instructions: inside the library. d1_misses, ll_misses: lines missed in the first and the last
    of two cache levels by data accesses of the library, of the libc functions (memset, memcpy,
    memmove) that it calls, and of the replay's loop; 0 if no cache was simulated.
    """

    instructions: int
    d1_misses: int
    ll_misses: int

    def less(self, other: "Counted") -> "Counted":
        """Field by field, never below 0."""
        return Counted(*(max(0, a - b) for a, b in zip(*map(msgspec.structs.astuple, (self, other)), strict=True)))


def parse(lines: Iterable[str]) -> Profile:
    """Parse a callgrind.out file of one part; BadInput for any other file.

    The format defines a name at its first use: `fn=(7) malloc`, later `fn=(7)`. A call's object is
    the caller's object by default. Trailing zeros of a row of costs are omitted.
    """
    events: list[str] = []
    names: dict[tuple[str, str], str] = {}
    own: dict[tuple[str, str], Costs] = defaultdict(Counter)
    called: dict[tuple[str, str], Costs] = defaultdict(Counter)
    sources: dict[tuple[str, str, str], Costs] = defaultdict(Counter)
    here = ["???", "???"]  # object, function
    source = "???"
    there = ["", ""]
    is_call = False
    for line in lines:
        key, equals, value = line.partition("=")
        if not line[:1].isalpha():
            if events and line[:1] in ("+", "-", "*", *"0123456789"):
                row = dict(zip(events, map(int, line.split()[1:]), strict=False))
                (called[here[0], there[1]] if is_call else own[here[0], here[1]]).update(row)
                sources[here[0], source, here[1]].update({} if is_call else row)
                is_call = False
        elif line.startswith("events:"):
            events = line.split()[1:]
        elif equals and key in ("ob", "fn", "cob", "cfn"):
            place = int(key.endswith("fn"))
            (there if key.startswith("c") else here)[place] = _name(names, key[-2:], value)
        elif equals and key in ("fl", "fi", "fe"):
            source = _name(names, "fl", value)
        elif equals and key in ("cfi", "cfl"):
            _name(names, "fl", value)
        elif equals and key == "calls":
            is_call = True
    if not events:
        raise BadInput("expected a profile that callgrind wrote: it names no events")
    return Profile(events, own, called, sources)


def _name(names: dict[tuple[str, str], str], table: str, value: str) -> str:
    """The name of `(number) name` or of `(number)`."""
    number, _, name = value.strip().partition(" ")
    return names.setdefault((table, number), name.strip()) if name else names.get((table, number), number)


def counted(profile: Profile, library: Path, driver: Path) -> Counted:
    """The figures of a profile of a whole replay process, including its start and end."""
    inside, missing = Costs(), Costs()
    for (where, function), costs in profile.own.items():
        if where == str(library):
            inside.update(costs)
        if where == str(library) or (where == str(driver) and function not in NO_LOOP):
            missing.update(costs)
    for (where, function), costs in profile.called.items():
        if where == str(library) and MOVERS.search(function):
            missing.update(costs)
    return Counted(inside["Ir"], missing["D1mr"] + missing["D1mw"], missing["DLmr"] + missing["DLmw"])


def replay_profile(script: Path, library: Path, caches: Caches | None = None, *, branches: bool = False) -> Profile:
    """The costs of a replay of `script` under `library`, of the whole process. Raises as replay_counts.

    branches: also simulate callgrind's predictor.
    """
    driver = replay_driver()
    options, touch = (caches.options(), "all") if caches else ([], "none")
    options += ["--branch-sim=yes"] * branches
    with scratch() as folder:
        out = folder / "callgrind.out"
        try:
            callgrind(driver, [str(script), "--unsampled", "--touch", touch], library, out, LIMIT_S, options)
        except CheckFailed as error:
            raise CheckFailed(f"{library.name}: {error}") from error
        with out.open() as lines:
            return parse(lines)


def is_countable(plan: Plan) -> bool:
    """Return whether a library of the plan does under valgrind what it does elsewhere.

    Valgrind has no restartable sequences (rseq(2)): the calls that begin with them take other paths.
    """
    return not getattr(plan.design.row("heaps"), "RESTARTABLE", False)


def replay_counts(script: Path, library: Path, caches: Caches | None = None) -> Counted:
    """The cost of a replay of `script` (of write_script) under `library`.

    The replay writes a byte of each line of blocks only if there are `caches` to simulate. RSS is
    not sampled, since this would evict lines. A replay of an empty script is subtracted: it holds
    the start and end of the process, but not the start of the library, which comes with the first
    allocation. Raises Missing without valgrind, CheckFailed if the replay fails.
    """
    whole = counted(replay_profile(script, library, caches), library, replay_driver())
    return whole.less(_nothing(library, caches))


@lru_cache
def _nothing(library: Path, caches: Caches | None) -> Counted:
    """The cost of a replay without events."""
    with scratch() as folder:
        nothing = replay_profile(script_of_nothing(folder), library, caches)
        return counted(nothing, library, replay_driver())
