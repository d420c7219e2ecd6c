"""Small attacks on the heap: how many each malloc stops.

python -m heapsmith.bench.attacks.attacks [--lib glibc]..., or make attacks LIBS="--lib glibc --lib hardened"

Each attack is a process of its own. A signal stops it; or it goes on and has no effect; or it goes
through. As in public suites, it counts as caught unless it goes through.
"""

import os
import re
import subprocess
from collections import Counter
from pathlib import Path
from typing import Annotated

import msgspec
import typer

from heapsmith.bench.common.command import exit_with
from heapsmith.codegen.toolchain import build_tool
from heapsmith.tools.common.tables import Words, draw
from heapsmith.tools.peers.peers import GLIBC, Library, find_libraries, preload

FLAGS = ["-x", "c++", "-std=c++17", "-O1", "-fno-builtin", "-w", "-lstdc++"]
LINE = re.compile(r"^(\w+) (\w+) (stopped|foiled|hit)$", re.MULTILINE)
ENDS = ("stopped", "foiled")


class Attack(msgspec.Struct, frozen=True):
    """An attack at a size, and how it ended: a signal `stopped` it, it was `foiled`, or it `hit`."""

    name: str
    size: str
    end: str


def tool() -> Path:
    """The program that runs them."""
    return build_tool("attacks", [Path(__file__).with_name("attacks.cc")], FLAGS)


def attacks(library: Library) -> list[Attack]:
    """Run the attacks under a malloc."""
    environment = os.environ | {"LD_PRELOAD": preload(library, {})}
    out = subprocess.run([tool()], env=environment, capture_output=True, text=True, check=True).stdout
    return [Attack(*found) for found in LINE.findall(out)]


def ended(found: list[Attack]) -> int:
    """How many a signal stopped."""
    return sum(attack.end == "stopped" for attack in found)


def caught(found: list[Attack]) -> str:
    """How many were caught, in words."""
    ends = Counter(attack.end for attack in found)
    stopped, foiled = (ends[end] for end in ENDS)
    return f"{stopped + foiled} ({stopped} ended, {foiled} without effect)"


def main(lib: Annotated[list[str] | None, typer.Option()] = None) -> int:
    """Print a row for each malloc."""
    libraries = find_libraries(lib or [GLIBC, "default", "basic", "checks", "hardened"])
    found = {library.name: attacks(library) for library in libraries}
    whole = len(next(iter(found.values())))
    draw(Words("", ("malloc", f"caught of {whole}"), [[name, caught(each)] for name, each in found.items()]))
    return 0


if __name__ == "__main__":
    exit_with(main)
