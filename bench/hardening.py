"""The price of each level of hardening: instructions per malloc+free pair, time and memory of a real program."""

import re
import subprocess
import sys
import tempfile
from functools import lru_cache
from pathlib import Path

import msgspec
from rich.console import Console
from rich.table import Table

from heapsmith.bench.built import library_of
from heapsmith.bench.measure import measure
from heapsmith.bench.programs import programs
from heapsmith.codegen.toolchain import TOOL_FLAGS, build_tool
from heapsmith.model.design import Design, Hardening, load
from heapsmith.model.errors import CheckFailed, HeapsmithError, Missing
from heapsmith.model.policy import hardening_checks, hardening_full, hardening_off

PAIRS = 200_000
FORMS = ("32", "512", "mixed")
PROGRAM = "python"
ROUNDS = 7
LEVELS: dict[str, Hardening] = {
    "off": hardening_off.Params(),
    "checks": hardening_checks.Params(),
    "full": hardening_full.Params(),
}


class Price(msgspec.Struct, frozen=True):
    """One level; instructions per pair by form, time and peak RSS of the program as ratios to glibc's."""

    level: str
    instructions: dict[str, float]
    time_ratio: float
    rss_ratio: float


def instructions(library: Path | None, *arguments: str) -> int:
    """All instructions of a run of the pairs program, by callgrind. Raises Missing without valgrind."""
    tool = build_tool("pairs", [Path(__file__).with_name("pairs.c")], [*TOOL_FLAGS, "-fno-builtin"])
    counted = ["valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null", str(tool), *arguments]
    command = ["env", *([f"LD_PRELOAD={library}"] if library else []), *counted]
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    except OSError as error:
        raise Missing(f"env cannot be run: {error.strerror}") from error
    if found := re.search(r"Collected : (\d+)", done.stderr):
        return int(found[1])
    if done.returncode == 127:
        raise Missing("valgrind not found on PATH (Debian: apt install valgrind)")
    raise CheckFailed(f"{' '.join(command)}: no instruction count; {(done.stderr.splitlines() or ['no output'])[-1]}")


def per_pair(form: str, library: Path | None) -> float:
    """Instructions of one pair, call and PLT included, the benchmark's own loop and the process's start subtracted."""
    twice, once = str(2 * PAIRS), str(PAIRS)
    spent = instructions(library, form, twice) - instructions(library, form, once)
    return (spent - _loop(form)) / PAIRS


@lru_cache
def _loop(form: str) -> int:
    """Instructions of PAIRS rounds of the benchmark's own loop."""
    return instructions(None, form, str(2 * PAIRS), "dry") - instructions(None, form, str(PAIRS), "dry")


def prices(folder: Path) -> list[Price]:
    """Every level of the default design, and glibc's row first."""
    libraries = {"glibc": None} | {level: library_of(_design(level)) for level in LEVELS}
    program = next(row for row in programs(folder) if row.name == PROGRAM)
    names = [str(path) if path else "glibc" for path in libraries.values()]
    table = measure([*map(str, program.command)], names, rounds=ROUNDS)
    return [
        Price(
            level, {form: round(per_pair(form, path), 1) for form in FORMS}, row.wall_ratio.median, row.rss_ratio.median
        )
        for (level, path), row in zip(libraries.items(), table.rows, strict=True)
    ]


def _design(level: str) -> Design:
    """The default design at a level of hardening."""
    return msgspec.structs.replace(load("default"), name=f"default-{level}", hardening=LEVELS[level])


def main() -> None:
    """The table; `--json` prints it as JSON."""
    try:
        with tempfile.TemporaryDirectory(prefix="heapsmith-hardening-") as folder:
            rows = prices(Path(folder))
    except HeapsmithError as error:
        Console(stderr=True).print(f"heapsmith: {error}")
        sys.exit(error.exit_code)
    if "--json" in sys.argv[1:]:
        print(msgspec.json.encode(rows).decode())
        return
    table = Table("level", *(f"instructions per pair, {form}" for form in FORMS), f"{PROGRAM}: time", "peak RSS")
    for row in rows:
        numbers = [f"{row.instructions[form]:.1f}" for form in FORMS]
        table.add_row(row.level, *numbers, f"{row.time_ratio:.2f}x", f"{row.rss_ratio:.2f}x")
    Console(width=160).print(table)


if __name__ == "__main__":
    main()
