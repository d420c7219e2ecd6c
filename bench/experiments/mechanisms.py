"""The mechanisms of the design space as a page: docs/lab/mechanisms.md, from mechanisms.toml.

python -m heapsmith.bench.experiments.mechanisms [--check]
"""

import re
from pathlib import Path
from typing import Annotated, Any

import msgspec
import typer

from heapsmith.bench.common.command import exit_with
from heapsmith.bench.experiments.book import book
from heapsmith.model.design.design import load
from heapsmith.model.errors import CheckFailed
from heapsmith.model.files import write_text
from heapsmith.model.toml_text import from_toml, read_text
from heapsmith.tools.common.tables import Words, section

FILE = Path(__file__).with_name("mechanisms.toml")
VERIFIED = FILE.with_name("verified.json")
ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "lab" / "mechanisms.md"
SERIES = "MH"
"""The letters of mechanisms: of the log book, and of heapsmith's own, in the page's order."""

HEAD = """# Mechanisms

The mechanisms that a design can state. `make check` holds this page to
`bench/experiments/mechanisms.toml`, and each row to its design, its experiments and its test. The
numbers are of two series: M1 and those that follow are those of the log book whose claims `python
-m heapsmith.bench experiments` measures; H1 and those that follow are mechanisms that heapsmith has
besides.

M33 is not the log's mechanism but what replaces it. The log's allocator had 12 strategies for large
blocks, rated each by its measured cost, offline and as the program ran (ELO, a bandit), and went on
with one of them. Here `heapsmith tune` chooses among the combinations of the policies for large
blocks, by their cost in simulations of the program's trace, and the library has the chosen ones
alone. The test simulates all combinations of a trace and holds that the search finds the best. What
the replacement lacks: a program whose large blocks change their pattern keeps the policies that
were best for the trace. No experiment repeats the log's figure, 12 strategies to 6 for +2 to 3 %:
it is the cost of rating strategies as the program runs, and there is none here.

*Verified at* names the commit at which `make verified` found no difference between the model and
both builds of the design, event by event, on traces of perl, python and ripgrep (up to {threads}
threads), and no claim about its C that fails.

Two mechanisms have no row. `limit_percent` of release `budget` keeps a heap away from a limit on
memory ([release](../machine-rooms.md#release)), but no built-in design states it. Meshing is simulated
only ([meshing.md](meshing.md)): no design can state it.
"""


class Mechanism(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One row. states: values of the design's fields by dotted path; "*" stands for any value."""

    name: str
    states: dict[str, Any]
    design: str
    test: str
    experiments: list[str] = []


class Verified(msgspec.Struct, frozen=True):
    """Library and model of a design on real programs, without a difference (bench/experiments/verified.py)."""

    commit: str
    date: str
    threads: int  # the most of a trace
    events: int  # of all traces and both builds
    claims: int  # about the emitted C, which the audit checked


def verified() -> dict[str, Verified]:
    """Return the comparisons by design."""
    return msgspec.json.decode(read_text(VERIFIED, str(VERIFIED)), type=dict[str, Verified])


def mechanisms(path: Path = FILE) -> dict[str, Mechanism]:
    """Return the mechanisms of a file by number; BadInput names file and field."""
    found: dict[str, Mechanism] = from_toml(read_text(path, str(path)), str(path), dict[str, Mechanism], str)
    return found


def faults(number: str, one: Mechanism) -> list[str]:
    """Return what is wrong with a row: a value that the design lacks, no such experiment or test."""
    stated = _leaves("", msgspec.to_builtins(load(one.design)))
    found = [
        f"{number}: design {one.design} does not state {path} = {value}"
        for path, value in one.states.items()
        if not any(_holds(leaf, key, path, value) for key, leaf in stated)
    ]
    known = book().experiments
    found += [f"{number}: there is no experiment {name}" for name in one.experiments if name not in known]
    file, _, function = one.test.partition("::")
    tests = ROOT / "tests" / file
    if not tests.is_file() or not re.search(rf"^def {function}\(", tests.read_text(), re.MULTILINE):
        found.append(f"{number}: there is no test tests/{one.test}")
    return found


def _holds(leaf: Any, key: str, path: str, value: Any) -> bool:
    at = key == path or key.endswith(f".{path}")
    return at and (leaf == value or (value == "*" and leaf not in (None, [], 0)))


def _leaves(prefix: str, value: Any) -> list[tuple[str, Any]]:
    """Return the leaves of nested tables, and of lists of tables, by dotted path."""
    if isinstance(value, dict):
        return [leaf for key, inner in value.items() for leaf in _leaves(f"{prefix}.{key}".lstrip("."), inner)]
    if isinstance(value, list) and value and isinstance(value[0], dict):
        return [leaf for inner in value for leaf in _leaves(prefix, inner)]
    return [(prefix, value)]


def text() -> str:
    """Return the page. Raises CheckFailed if a row does not hold."""
    rows: list[list[str]] = []
    known = verified()
    wrong: list[str] = []
    for number, one in sorted(mechanisms().items(), key=lambda item: (SERIES.index(item[0][0]), int(item[0][1:]))):
        wrong += faults(number, one)
        words = ", ".join(f"`{path} = {msgspec.json.encode(value).decode()}`" for path, value in one.states.items())
        at = f"{known[one.design].commit}, {known[one.design].date}" if one.design in known else "not yet"
        rows.append([number, one.name, words, one.design, at, ", ".join(one.experiments) or "-", one.test])
    if wrong:
        raise CheckFailed("; ".join(wrong))
    columns = ["number", "<mechanism", "<a design states", "<built-in design", "<verified at", "<experiments", "<test"]
    threads = max((one.threads for one in known.values()), default=0)
    return HEAD.format(threads=threads) + "\n".join(section(Words("The space", columns, rows))) + "\n"


def main(check: Annotated[bool, typer.Option("--check", help="Only compare the page.")] = False) -> int:
    """Write docs/lab/mechanisms.md, or check it."""
    page = text()
    if not check:
        write_text(PAGE, page)
    elif read_text(PAGE, str(PAGE)) != page:
        raise CheckFailed(f"{PAGE.name} differs from {FILE.name}: run python -m heapsmith.bench.experiments.mechanisms")
    return 0


if __name__ == "__main__":
    exit_with(main)
