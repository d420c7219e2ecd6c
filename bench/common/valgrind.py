"""Running a program under callgrind: exact counts of instructions and, if asked for, simulated caches."""

from collections.abc import Sequence
from pathlib import Path

from heapsmith.bench.common.elf import dynamic_loader
from heapsmith.bench.common.limited import run_limited
from heapsmith.model.errors import CheckFailed, Missing


def callgrind(
    program: Path, words: Sequence[str], library: Path | None, out: Path, limit_s: float, options: Sequence[str] = ()
) -> str:
    """Run `program` with `library` preloaded; its profile goes to `out`; what callgrind said on standard error.

    The loader preloads it, since valgrind itself must not run on the library. Raises Missing without valgrind,
    CheckFailed if the run fails or takes longer: what a program did that ended early is no figure.
    """
    tool = ["valgrind", "--tool=callgrind", *options, f"--callgrind-out-file={out}", dynamic_loader(program)]
    preload = ["--preload", str(library)] if library else []
    try:
        done = run_limited([*tool, *preload, str(program), *words], limit_s)
    except FileNotFoundError:
        raise Missing("valgrind not found on PATH (Debian: apt install valgrind)") from None
    if done.returncode != 0:
        own = [line for line in done.stderr.splitlines() if line and not line.startswith(("==", "--"))]
        raise CheckFailed(f"exit status {done.returncode} under valgrind: {(own or ['no output'])[0]}")
    return done.stderr
