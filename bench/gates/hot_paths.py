"""The gate of the hot paths: instructions per operation of a few designs."""

import tomllib
from collections.abc import Sequence
from pathlib import Path

import tomlkit

from heapsmith.bench.common.command import exit_with
from heapsmith.bench.gates import inlined
from heapsmith.bench.programs.instructions import FORMS, per_operation
from heapsmith.codegen.built import library_of
from heapsmith.codegen.toolchain import find_gcc
from heapsmith.model.design.design import Design, load
from heapsmith.model.design.plan import make_plan
from heapsmith.model.errors import BadInput
from heapsmith.model.files import write_text
from heapsmith.tools.common.parallel import in_parallel
from heapsmith.tools.common.rounds import quiet

FILE = Path(__file__).with_name("hot_paths.toml")
DESIGNS = ("basic", "by-class", "default", "lean", "owner", "two-level")
"""Array stacks by class and by row, one with a look at the last block, lists by class, blocks that go to their
owner, and fronts of several kinds.
"""

GATED = ("pair-32", "mixed")
"""All sizes cost the same on the hit path; `mixed` also includes a share of slow paths."""

OPERATIONS = 4000
"""Few for speed, yet ten times the number of live blocks."""

HEAD = """\
# Instructions per operation of the hot paths, by callgrind: release build, with call and PLT,
# without the loop (bench/programs/instructions.py). header-: inlined by heapsmith.h
# (bench/gates/inlined.py). Exact for one compiler. `make hot-paths` writes the file;
# tests/test_hot_paths.py fails on other counts. Raise a figure only with a reason in the commit.
"""

Counts = dict[str, dict[str, float]]
"""By design and form."""


def count(names: Sequence[str]) -> Counts:
    """The current counts of designs, to a tenth. Raises like builds and counts (Missing without valgrind)."""
    designs = {name: load(name) for name in names}
    for design in designs.values():
        library_of(design)  # build once, not in every thread
    pairs = [(name, form) for name, design in designs.items() for form in forms_of(design)]
    found = in_parallel("count instructions", lambda pair: _count(designs[pair[0]], pair[1]), pairs, quiet)
    counts: Counts = {name: {} for name in designs}
    for (name, form), figure in zip(pairs, found, strict=True):
        counts[name][form] = round(figure, 1)
    return counts


def forms_of(design: Design) -> list[str]:
    """The forms to count for a design: with those of heapsmith.h if it inlines anything."""
    return [*GATED, *(inlined.FORMS if make_plan(design).inline_alloc else ())]


def _count(design: Design, form: str) -> float:
    if form in inlined.FORMS:
        return inlined.per_pair(form, design, inlined=True, operations=OPERATIONS)
    return per_operation(FORMS[form], library_of(design), operations=OPERATIONS)


def allowed(file: Path = FILE) -> tuple[str, Counts]:
    """The compiler that the file names, and its counts; BadInput for another kind of file."""
    try:
        content = tomllib.loads(file.read_text())
        return content.pop("gcc"), content
    except (OSError, ValueError, KeyError) as error:
        raise BadInput(f"{file}: expected the counts that `make hot-paths` writes: {error}") from error


def as_toml(gcc: str, counts: Counts) -> str:
    """The file's content."""
    return HEAD + tomlkit.dumps({"gcc": gcc, **counts})


def compare(found: Counts, permitted: Counts) -> list[str]:
    """One line per fault: too many instructions, fewer than the file says, or a missing figure."""
    wrong = []
    for name, row in found.items():
        for form, now in row.items():
            limit = permitted.get(name, {}).get(form)
            where = f"{name}, {form}: {now} instructions"
            if limit is None:
                wrong.append(f"{where}, and {FILE.name} allows none: run `make hot-paths`")
            elif now > limit + 0.1:  # both are rounded to a tenth
                wrong.append(f"{where}, {limit} are allowed: the hot path has become longer")
            elif now < limit - 0.1:
                wrong.append(f"{where}, {limit} are allowed: better, so lower {FILE.name} by `make hot-paths`")
    gone = [f"{name}, {form}" for name, row in permitted.items() for form in row if form not in found.get(name, {})]
    return wrong + [f"{what}: in {FILE.name}, but not counted any more: run `make hot-paths`" for what in gone]


def main() -> int:
    """Count, write the file, and print it."""
    content = as_toml(find_gcc().version, count(DESIGNS))
    write_text(FILE, content)
    print(content.removeprefix(HEAD), end="")
    return 0


if __name__ == "__main__":
    exit_with(main)
