"""Runs a program under callgrind: exact instruction counts and optional simulated caches."""

from collections.abc import Sequence
from pathlib import Path

from heapsmith.model.constants import BENCHFAST
from heapsmith.model.errors import CheckFailed, Missing
from heapsmith.tools.common.elf import loader
from heapsmith.tools.common.inherited import environment
from heapsmith.tools.common.limited import run_limited
from heapsmith.tools.common.preload import preloadable


def callgrind(
    program: Path, words: Sequence[str], library: Path | None, out: Path, limit_s: float, options: Sequence[str] = ()
) -> str:
    """Run `program`, which was built here; the profile goes to `out`; returns the messages.

    Its loader preloads `library`, since valgrind itself must not run on that. Raises Missing
    without valgrind, CheckFailed if the run fails or exceeds the limit.
    """
    tool = ["valgrind", "--tool=callgrind", *options, f"--callgrind-out-file={out}", str(loader(program))]
    preload = ["--preload", preloadable(library)] if library else []
    try:
        done = run_limited([*tool, *preload, str(program), *words], limit_s, env=environment() | BENCHFAST)
    except FileNotFoundError:
        raise Missing("valgrind not found on PATH (Debian: apt install valgrind)") from None
    if done.returncode != 0:
        own = [line for line in done.stderr.splitlines() if line and not line.startswith(("==", "--"))]
        raise CheckFailed(f"exit status {done.returncode} under valgrind: {(own or ['no output'])[0]}")
    return done.stderr
