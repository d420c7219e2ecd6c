"""Programs of tests/programs with a library preloaded: built once, run under limits, their end looked at."""

import os
import resource
import subprocess
from collections.abc import Mapping, Sequence
from functools import lru_cache
from pathlib import Path

from covering import covering_designs, soon
from loaded import checked_library

from heapsmith.codegen.built import library_of
from heapsmith.codegen.toolchain import build_tool
from heapsmith.model.design.design import Design, builtin_names, load
from heapsmith.tools.common.preload import preloadable

PROGRAMS = Path(__file__).parent / "programs"
FLAGS = ("-O1", "-fno-builtin", "-pthread", "-Wall", "-Wextra")
"""Without -fno-builtin gcc takes free(malloc(n)) out of a program."""

BUILT_IN = builtin_names()
FIRST_BUILT_IN = soon(BUILT_IN, ("default", "header"), ("owner",))
"""The built-in designs for tests that need a release library of each."""
LIVE_DESIGNS = soon(
    ("default", "owner", "owner-mutex", "prewarm", "region", "header", "hardened"),
    ("default", "owner"),
    ("hardened",),
)
"""One design of every kind that differs in threads, forks and failures; every other built-in one in the long forms."""


@lru_cache(maxsize=1)
def _covering() -> dict[str, Design]:
    return {design.name: design for design in covering_designs()}


def design_of(name: str) -> Design:
    """A built-in design, or one of tests/covering.py by its name."""
    return _covering()[name] if name.startswith("covering-") else load(name)


def library(name: str, *, checked: bool = True) -> Path:
    """The library of a design, the checked build unless told otherwise."""
    return checked_library(design_of(name)) if checked else library_of(design_of(name))


def program(name: str, *flags: str, sources: Sequence[Path] = ()) -> Path:
    """The program, compiled only if it is not in the cache."""
    return build_tool(name, [PROGRAMS / f"{name}.c", *sources], [*FLAGS, *flags])


def shim(name: str, *flags: str) -> Path:
    """The shared object of that source."""
    return build_tool(name, [PROGRAMS / f"{name}.c"], [*FLAGS, "-shared", "-fPIC", *flags])


LIMITS = {resource.RLIMIT_AS: "as", resource.RLIMIT_DATA: "data"}
"""Options of prlimit(1)."""


def start(
    command: Sequence[str | Path | int],
    *preloads: Path,
    limits: Mapping[int, int] | None = None,
    environment: Mapping[str, str] | None = None,
    timeout: float = 300,
) -> subprocess.CompletedProcess[str]:
    """Run a command to its end under resource limits (by RLIMIT_ number).

    A program sets the limits, because a fork of this process, which is large, costs as much as most commands.
    """
    words = ["prlimit", *(f"--{LIMITS[which]}={value}" for which, value in limits.items())] if limits else []
    assignments = [f"LD_PRELOAD={':'.join(map(preloadable, preloads))}"] if preloads else []
    assignments += [f"{name}={value}" for name, value in (environment or {}).items()]
    return subprocess.run(
        [*words, "env", *assignments, *map(str, command)],
        capture_output=True,
        text=True,
        timeout=timeout,
        check=False,
        env={name: value for name, value in os.environ.items() if name not in ("LD_PRELOAD", "HEAPSMITH")},
    )


def run(
    command: Sequence[str | Path | int],
    *preloads: Path,
    limits: Mapping[int, int] | None = None,
    environment: Mapping[str, str] | None = None,
    timeout: float = 300,
) -> str:
    """What the command wrote; it must end with status 0 and complain of nothing."""
    done = start(command, *preloads, limits=limits, environment=environment, timeout=timeout)
    assert (done.returncode, done.stderr) == (0, ""), " ".join(map(str, command))
    return done.stdout
