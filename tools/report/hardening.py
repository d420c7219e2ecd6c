"""What a design's level of hardening stops and costs, in one line; the figures are those of hardening.toml."""

import tomllib
from pathlib import Path

import msgspec
import tomlkit

from heapsmith.model import policy
from heapsmith.model.design.design import Design
from heapsmith.model.files import write_text

FILE = Path(__file__).with_name("hardening.toml")
HEAD = """\
# What the levels of hardening stop, in the design `default`, and what they cost: written by
# `python -m heapsmith.bench.studies.single_checks --keep` (docs/lab/hardening.md).
# stopped: of the small attacks, those that a signal ends. instructions: more than at level off, per
# pair of malloc and free of 32 bytes.
"""
BASES = {"basic": "basic", "checks": "checks", "full": "hardened"}
"""By level, the built-in design with it."""


class Stopped(msgspec.Struct, frozen=True):
    """How many of the small attacks a malloc stops, and its instructions per pair beyond those of level off."""

    stopped: int
    instructions: float | None = None


class Figures(msgspec.Struct, frozen=True):
    """The number of small attacks, glibc's version, what it stops, and each level by name."""

    attacks: int
    glibc: str
    of_glibc: int
    levels: dict[str, Stopped]


def figures() -> Figures:
    """The measured figures."""
    return msgspec.convert(tomllib.loads(FILE.read_text()), Figures)


def keep(found: Figures, path: Path = FILE) -> None:
    """Write figures to the file."""
    fields = msgspec.to_builtins(found)
    for level in fields["levels"].values():
        if level["instructions"] is None:
            del level["instructions"]
    write_text(path, HEAD + tomlkit.dumps(fields))


def sentence(design: Design) -> str:
    """What the design's level stops and costs, and the next level."""
    found, level = figures(), design.row("hardening").NAME
    cost = _cost(found.levels[level])
    said = f"Hardening {level} stops {found.levels[level].stopped} of {found.attacks} small attacks{cost}"
    said += f" (glibc's malloc: {found.of_glibc})"
    order = policy.names("hardening")
    if level == order[-1]:
        return f"{said}."
    higher = order[order.index(level) + 1]
    other = found.levels[higher]
    return f"{said}; {higher} stops {other.stopped}{_cost(other)} (--base {BASES[higher]})."


def _cost(level: Stopped) -> str:
    """What a level costs, in words."""
    return f" for {level.instructions:.0f} instructions a pair" if level.instructions else ""
