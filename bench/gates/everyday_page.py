"""The page of everyday programs: docs/lab/everyday.md, of everyday.json and the reasons in everyday.toml.

python -m heapsmith.bench.gates.everyday_page [--check]
"""

import re
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from textwrap import fill
from typing import Annotated

import typer

from heapsmith.bench.common.command import exit_with
from heapsmith.bench.gates.everyday import SAME, Results, Row, counts, results
from heapsmith.bench.gates.everyday_runs import contents
from heapsmith.model.errors import CheckFailed
from heapsmith.model.files import write_text
from heapsmith.model.toml_text import read_text
from heapsmith.tools.common.tables import Words, section

FIGURES = Path(__file__).with_name("everyday.json")
PAGE = Path(__file__).resolve().parents[2] / "docs/lab/everyday.md"
_LIBRARY = re.compile(r"CACHE/[^\s:']+")
"""The file that was preloaded."""
AGAIN = "python -m heapsmith.bench.gates.everyday_page"

HEAD = """# Everyday programs

What `record` and a preloaded library do to programs of a Linux machine: {same} of {runs} runs are
the same as without. `make everyday` ran {programs} programs on Debian {debian}, each with a real
job and with its version: as they are, recorded, under two designs, with `LD_PRELOAD=LIBRARY` by
hand, and a sample in `compare`. Compared are the exit status or signal, and standard output and
standard error where two plain runs agree in them. *Refused* means that heapsmith starts nothing,
and says why in one line. A run that takes more than {limit} s counts as hanging: {hangs} did.

`tests/test_given.py` and `tests/test_between.py` hold what a program gets besides: its words,
environment, descriptors, signals, limits, folder, group and terminal, its input, and output at the
moment at which it is written.
"""


def exceptions(rows: list[Row]) -> list[list[str]]:
    """A row for each word that is not SAME: program, what ran, the ways, the word, and the reason."""
    found: dict[tuple[str, str, str], list[str]] = {}
    for row in rows:
        for what, way, word in row.cells():
            if word != SAME:
                line = _LIBRARY.sub("LIBRARY", word)
                found.setdefault((row.program, what, line), []).append(way)
    reasons = contents()["known"]
    return [
        [program, what, ", ".join(ways), f"`{word.replace('`', chr(39))}`", reasons.get(program, "")]
        for (program, what, word), ways in found.items()
    ]


def text(of: Results) -> str:
    """The page."""
    words = [word for row in of.rows for _, _, word in row.cells()]
    head = HEAD.format(
        same=words.count(SAME),
        runs=len(words),
        programs=len(of.rows),
        debian=of.debian,
        limit=f"{of.limit_s:.0f}",
        hangs=words.count("hangs") or "none",
    )
    columns = ["<program", "<what", "<ways", "<line", "<why"]
    output, errors = ([row.program for row in of.rows if word not in row.steady] for word in ("output", "errors"))
    commits = Counter(row.commit for row in of.rows)
    lines = [head.rstrip(), ""]
    lines += [
        _filled(f"heapsmith's commits, with their programs: {_list(f'{at} ({n})' for at, n in commits.items())}.")
    ]
    lines += section(counts(of.rows)._replace(title="Counts"))
    lines += section(Words("Exceptions", columns, exceptions(of.rows)))
    lines += ["", "## What was run", ""]
    lines += [_filled(f"Jobs of which two plain runs differ in standard output: {_list(output)}.")]
    lines += ["", _filled(f"Jobs of which they differ in standard error: {_list(errors)}.")]
    lines += ["", _filled(f"Programs with the version of their package: {_list(map(_named, of.rows))}.")]
    return "\n".join(lines) + "\n"


def _named(row: Row) -> str:
    """A program with the version of its Debian package."""
    return f"{row.program} ({row.package.rpartition(' ')[2]})" if row.package else row.program


def _list(words: Iterable[str]) -> str:
    return ", ".join(words) or "none"


def _filled(line: str) -> str:
    return fill(line, 100, break_on_hyphens=False, break_long_words=False)


def main(check: Annotated[bool, typer.Option("--check", help="Only compare the page.")] = False) -> int:
    """Write docs/lab/everyday.md, or check it."""
    page = text(results(FIGURES))
    if not check:
        write_text(PAGE, page)
    elif read_text(PAGE, str(PAGE)) != page:
        raise CheckFailed(f"{PAGE.name} is not made of {FIGURES.name}; run {AGAIN}")
    return 0


if __name__ == "__main__":
    exit_with(main)
