"""A replay's system calls for memory, counted by strace: mmap, munmap, mremap and more."""

import re
from functools import cache
from pathlib import Path

from heapsmith.model.errors import Missing
from heapsmith.model.files import scratch
from heapsmith.tools.common.limited import run_limited
from heapsmith.tools.common.preload import preloadable
from heapsmith.tools.peers.peers import replay_driver
from heapsmith.tools.replay.script import script_of_nothing

CALLS = "mmap,munmap,mremap,mprotect,madvise,mincore,mbind"
LIMIT_S = 120.0


def memory_calls(script: Path, library: Path) -> int:
    """The memory calls of a replay of the script under the library, minus those of an empty replay.

    The empty replay starts the library, as the first allocation of any other does.
    Includes the maps of the stacks of threads. Raises Missing without strace, or where strace may
    not trace a process.
    """
    with scratch() as folder:
        return _counted(script, library, folder / "strace") - _of_nothing(library)


@cache
def _of_nothing(library: Path) -> int:
    with scratch() as folder:
        return _counted(script_of_nothing(folder), library, folder / "strace", "--started")


def _counted(script: Path, library: Path, out: Path, *options: str) -> int:
    command = ["strace", "-f", "-c", "-o", str(out), "-e", f"trace={CALLS}", "-E", f"LD_PRELOAD={preloadable(library)}"]
    try:
        done = run_limited([*command, str(replay_driver()), str(script), "--unsampled", *options], LIMIT_S)
    except FileNotFoundError:
        raise Missing("strace not found on PATH (Debian: apt install strace)") from None
    if done.returncode != 0:
        said = (done.stderr.strip().splitlines() or ["no output"])[-1]
        raise Missing(f"strace cannot run a replay: {said}")
    rows = re.findall(
        rf"^\s*[\d.]+\s+[\d.]+\s+\d+\s+(\d+)(?:\s+\d+)?\s+(?:{CALLS.replace(',', '|')})$", out.read_text(), re.M
    )
    return sum(map(int, rows))
