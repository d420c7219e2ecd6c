"""The table of mallocs that have settings, and what traces or a design advise for each."""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import NamedTuple

import msgspec

from heapsmith.model.errors import BadInput
from heapsmith.model.knobs.evidence import gather
from heapsmith.model.memory.hardware import load_hardware
from heapsmith.model.predict.simulate import Progress
from heapsmith.tools.knobs import glibc, gperftools, jemalloc, mimalloc
from heapsmith.tools.knobs.knob import Asked, Favour, Knob


class Adviser(NamedTuple):
    """A malloc: its settings for what is asked, the variables that say them, and the variable's separator."""

    advise: Callable[[Asked], list[Knob]]
    shell: Callable[[list[Knob]], dict[str, str]]
    separator: str
    """Between the settings of a variable; empty if a variable has one setting."""


ADVISERS: dict[str, Adviser] = {
    "glibc": Adviser(glibc.advise, glibc.shell, ":"),
    "jemalloc": Adviser(jemalloc.advise, jemalloc.shell, ","),
    "mimalloc3": Adviser(partial(mimalloc.advise, release="mimalloc3"), mimalloc.shell, ""),
    "mimalloc2": Adviser(partial(mimalloc.advise, release="mimalloc2"), mimalloc.shell, ""),
    "tcmalloc": Adviser(gperftools.advise, gperftools.shell, ""),
}
ALIASES = {"mimalloc": "mimalloc3"}


class Advice(msgspec.Struct, frozen=True):
    """The settings for a malloc, and the lines for a shell; both are empty if its defaults are as good."""

    library: str
    knobs: list[Knob]
    environment: dict[str, str]

    def lines(self) -> list[str]:
        """Return the lines that set the environment in a shell."""
        return [f"export {name}={value}" for name, value in self.environment.items()]


class Advised(msgspec.Struct, frozen=True):
    """The advice from traces for each malloc. lacks: what the traces do not tell, so that knobs are missing."""

    traces: list[str]
    operations: int
    favour: str
    lacks: list[str]
    advice: list[Advice]


def adviser(library: str) -> Adviser:
    """Return the adviser of a malloc by its name; BadInput if it has none."""
    found = ADVISERS.get(ALIASES.get(library, library))
    if found is None:
        raise BadInput(f"--lib {library}: no settings are known of it; expected one of {', '.join(ADVISERS)}")
    return found


def advise(
    traces: Sequence[Path], libraries: Sequence[str], favour: Favour, machine: str, progress: Progress | None = None
) -> Advised:
    """Return the settings of these mallocs for the traces.

    Raises BadInput for an unknown malloc, a damaged trace, and a machine without costs.
    """
    advisers = {library: adviser(library) for library in libraries}
    hardware = load_hardware(machine)
    if not hardware.costs:
        raise BadInput(f"--machine {machine}: has no costs; expected a machine that `heapsmith calibrate` wrote")
    evidence = gather(traces, progress)
    asked = Asked(evidence, favour, dict(hardware.costs))
    advice = []
    for library, of in advisers.items():
        knobs = of.advise(asked)
        advice.append(Advice(library, knobs, of.shell(knobs)))
    return Advised([str(trace) for trace in traces], evidence.operations, favour, evidence.lacks, advice)


def merged(library: str, environment: Mapping[str, str], present: Mapping[str, str]) -> dict[str, str]:
    """Return the settings behind those that the environment has of the same variables; the last of two wins."""
    separator = adviser(library).separator
    return {
        name: f"{present[name]}{separator}{value}" if separator and present.get(name) else value
        for name, value in environment.items()
    }
