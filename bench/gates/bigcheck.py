"""The tests in their long forms, file by file; what has passed at a commit is not run again.

python -m heapsmith.bench.gates.bigcheck [--log FILE] [--again] [--table] [TEST_FILE]..., or make bigcheck

Each file of tests is one run of pytest. Its outcome is written to the log as soon as it ends, so
that an interrupted run goes on where it was. A working tree with changes has no commit: all files
run, and the commit in the log ends with "+".
"""

import json
import re
import subprocess
import sys
import time
from pathlib import Path
from typing import Annotated

import msgspec
import typer

from heapsmith.bench.common.command import exit_with
from heapsmith.bench.common.commit import commit, today
from heapsmith.model.errors import BadInput
from heapsmith.model.files import write_json
from heapsmith.tools.common.tables import Words, section

LOG = Path("out/bigcheck.json")
PYTEST = ("-m", "pytest", "-q", "-n", "2", "-m", "big or not big")
NO_TESTS = 5  # pytest's status where a file has no test


class Outcome(msgspec.Struct, frozen=True):
    """How the long form of a file of tests ended; `said`: pytest's last line."""

    commit: str
    date: str
    seconds: int
    passed: bool
    said: str


def read(log: Path) -> dict[str, Outcome]:
    """Return the outcomes by file. Raises BadInput if the file holds something else."""
    try:
        return msgspec.convert(json.loads(log.read_text()) if log.exists() else {}, dict[str, Outcome])
    except (OSError, ValueError) as error:
        raise BadInput(f"{log}: no log of outcomes: {error}") from None


def is_due(outcome: Outcome | None, at: str) -> bool:
    """Return whether a file must run at a commit: it has not passed there, or the tree has changes."""
    return at.endswith("+") or outcome is None or not outcome.passed or outcome.commit != at


def performed(file: str, at: str) -> Outcome:
    """Run the long form of a file of tests; its output goes to the terminal, too."""
    begin, last = time.monotonic(), ""
    with subprocess.Popen([sys.executable, *PYTEST, file], stdout=subprocess.PIPE, text=True) as tests:
        assert tests.stdout is not None
        for line in tests.stdout:
            print(line, end="", flush=True)
            last = re.sub(r"\x1b\[[0-9;]*m|=", "", line).strip() or last
    return Outcome(at, today(), round(time.monotonic() - begin), tests.returncode in (0, NO_TESTS), last)


def table(outcomes: dict[str, Outcome]) -> Words:
    """Return the table of docs/lab/testing.md: what ran when, and how it ended."""
    rows = [
        [f"`{Path(file).name}`", f"{one.commit}, {one.date}", str(one.seconds), one.said]
        for file, one in sorted(outcomes.items())
    ]
    return Words("", ("file", "<commit, date", "seconds", "<outcome"), rows)


def main(
    files: Annotated[list[str] | None, typer.Argument(help="Files of tests; default: all.")] = None,
    log: Annotated[Path, typer.Option(metavar="FILE", dir_okay=False, help="Where outcomes are kept.")] = LOG,
    again: Annotated[bool, typer.Option("--again", help="Run what has passed at this commit, too.")] = False,
    show: Annotated[bool, typer.Option("--table", help="Only print what the log holds, as Markdown.")] = False,
) -> int:
    """The tests in their long forms; exits with 1 if a file fails, and goes on with the next."""
    outcomes = read(log)
    if show:
        print("\n".join(section(table(outcomes))))
        return 0
    at = commit()
    wanted = files or sorted(map(str, Path("tests").rglob("test_*.py")))
    for file in wanted:
        if again or is_due(outcomes.get(file), at):
            print(f"{file} at {at}", flush=True)
            outcomes[file] = performed(file, at)
            log.parent.mkdir(parents=True, exist_ok=True)
            write_json(log, outcomes)
    return int(any(not outcomes[file].passed for file in wanted))


if __name__ == "__main__":
    exit_with(main)
