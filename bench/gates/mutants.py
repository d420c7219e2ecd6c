"""Would a test notice a wrong line? A sample of mutants of the heap's C, the tools' C, the templates and the model.

python -m heapsmith.bench.gates.mutants [--log FILE] [--size N] [--table] [FILE]..., or make mutants

Each mutant changes one line in a copy of the tree. Focused tests run there: lives of library and model under designs
that have the file, of a row the lines that both touch, then the tests that bench/gates/mutants.toml names for its
folder. What is known is written to the log at once, so that an interrupted run goes on where it was.
"""

import hashlib
import importlib
import os
import re
import shutil
import subprocess
import sys
import threading
import time
import tomllib
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Annotated

import msgspec
import typer

from heapsmith.bench.common.command import exit_with
from heapsmith.bench.common.commit import commit
from heapsmith.bench.gates import mutating, mutating_python, object_code
from heapsmith.bench.gates.focused import Focused, Found
from heapsmith.bench.gates.mutating import Mutant
from heapsmith.bench.gates.object_code import known_designs
from heapsmith.codegen import rooms
from heapsmith.codegen.generate import pieces
from heapsmith.model.design.design import Design
from heapsmith.model.design.plan import make_plan
from heapsmith.model.errors import BadInput
from heapsmith.model.files import write_json
from heapsmith.tools.common.tables import Words, section

LOG = Path("out/mutants.json")
FILE = Path(__file__).resolve().with_name("mutants.toml")
ROOT = FILE.parents[2]
SEED = "1"
AREAS = {
    "runtime/heap": 150,
    "runtime/recorder": 25,
    "runtime/replay": 30,
    "runtime/verify": 20,
    "templates": 40,
    "model/policy": 100,
    "model/heap": 35,
}
"""The mutants drawn of each area."""

LEAST_PERCENT = 97
LIVES = "tests/test_conformance.py::test_a_few_lives_of_every_pair_of_policies"
LINES = "tests/test_lines.py::test_lines_of_each_row"
DESIGNS = 3  # whose lives are judges of a line
LOOKED_AT = 12  # designs whose object code says whether a line changes anything
LIVES_S, TESTS_S = 60.0, 300.0  # of processor time, for runs that a mutant never lets end
UNCOMPILED = ("templates/heapsmith.h.j2",)  # of which no library is made

UNBUILT = "does not compile"
EQUIVALENT = "the object code stays"
LISTED = "listed"
SURVIVED = "not noticed"


class Table(msgspec.Struct, forbid_unknown_fields=True):
    """bench/gates/mutants.toml: files of tests by the beginning of a path, and mutants that change nothing."""

    focus: dict[str, list[str]]
    listed: list["Listed"] = []


class Listed(msgspec.Struct, forbid_unknown_fields=True):
    """A line and its change that no test can notice, and why."""

    file: str
    before: str
    after: str
    why: str


class Outcome(msgspec.Struct, frozen=True):
    """What became of a mutant: the test that noticed it, UNBUILT, EQUIVALENT, LISTED or SURVIVED."""

    file: str
    line: int
    before: str
    after: str
    by: str
    said: str
    commit: str
    seconds: int
    cpu_s: int


def table() -> Table:
    """The table of this file's folder."""
    return msgspec.convert(tomllib.loads(FILE.read_text()), Table)


@cache
def population() -> list[Mutant]:
    """Every mutant of the areas, by files in order."""
    found: list[Mutant] = []
    for area in AREAS:
        for path in sorted((ROOT / area).rglob("*")):
            makes = {".py": mutating_python.mutants}.get(path.suffix, mutating.mutants)
            if path.suffix in (".c", ".h", ".j2", ".py"):
                found += makes(str(path.relative_to(ROOT)), path.read_text())
    return found


def key(mutant: Mutant | Outcome | Listed) -> str:
    """What a mutant is, wherever its line stands."""
    return "\0".join((mutant.file, mutant.before.strip(), mutant.after.strip()))


def drawn(size: int) -> list[Mutant]:
    """The sample: `size` of 400 of each area, by a lot of the mutant itself, which no other line changes."""
    by_area: dict[str, dict[str, Mutant]] = {area: {} for area in AREAS}
    for mutant in population():
        area = next(area for area in AREAS if mutant.file.startswith(f"{area}/"))
        by_area[area].setdefault(key(mutant), mutant)
    whole = sum(AREAS.values())
    sample = []
    for area, mutants in by_area.items():
        count = -(-AREAS[area] * size // whole)
        sample += sorted(mutants.values(), key=_lot)[:count]
    return sorted(sample, key=_lot)


def _lot(mutant: Mutant) -> str:
    return hashlib.sha256(f"{SEED}\0{key(mutant)}".encode()).hexdigest()


@cache
def designs() -> dict[str, Design]:
    """The covering designs of the tests, those that together have every row first, and the built-in ones."""
    every = known_designs()
    covering = importlib.import_module("covering")
    return {design.name: design for design in covering.with_every_row()} | every


@cache
def files_of(name: str) -> frozenset[str]:
    """The files of the areas that a design's library is made of, and the rows of its model."""
    plan = make_plan(designs()[name])
    found = {str(file.resolve().relative_to(ROOT)) for file in [*rooms.sources(plan), *pieces(plan)]}
    for rows in rooms.rows(plan).values():
        found |= {str(Path(row.__file__ or "").resolve().relative_to(ROOT)) for row in rows}
        found |= {f"templates/{rooms.room_of(row)}/{row.NAME}.j2" for row in rows}
    return frozenset(found)


@cache
def having(file: str) -> list[str]:
    """The designs that have a file: all have what is shared by rows of the model or by templates."""
    found = [name for name in designs() if file in files_of(name)]
    return found or ([] if file.startswith("runtime/") else list(designs()))


def lives(names: Sequence[str]) -> list[str]:
    """The tests of a few lives of those of the designs that are covering ones."""
    return [f"{LIVES}[{name}]" for name in names if name.startswith("covering-")]


def focused(file: str) -> Iterator[tuple[float, list[str]]]:
    """The runs of tests behind the lives, each with its limit in seconds: those that take least come first."""
    if file.startswith("model/"):
        with_lines = [one.name for one in importlib.import_module("covering").with_every_row(of_processors=False)]
        names = [name for name in having(file) if name in with_lines][: DESIGNS + 1]
        yield TESTS_S, ["-m", "not big", *(f"{LINES}[{name}]" for name in (*names, "sampling-ready"))]
    focus = table().focus
    begins = max((begin for begin in focus if file.startswith(begin)), key=len)
    yield from ([(TESTS_S, focus[begins])] if file.endswith(".py") else ((TESTS_S, [test]) for test in focus[begins]))


class Copy:
    """A copy of the tree in which lines are changed, and its two processes that run tests."""

    def __init__(self, folder: Path, cached: Path, files: Sequence[str]) -> None:
        self.folder = folder
        self.cached = cached
        shutil.rmtree(folder, ignore_errors=True)
        names = subprocess.run(["git", "-C", ROOT, "ls-files", "-z"], capture_output=True, text=True, check=True).stdout
        for name in filter(None, names.split("\0")):
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, folder / name, follow_symlinks=False)
        self.environment = {
            **{name: text for name, text in os.environ.items() if name != "CI"},
            "PYTHONPATH": str(folder / "src"),
            "XDG_CACHE_HOME": str(cached),
            "HEAPSMITH_SEED": SEED,
            "PYTHONDONTWRITEBYTECODE": "1",  # bytecode of a changed line may look like that of another
        }
        compiling = ["-m", "compileall", "-q", "--invalidation-mode", "checked-hash", "src"]
        subprocess.run([sys.executable, *compiling], cwd=folder, env=self.environment, check=False)
        self.focused = Focused(folder, self.environment, files)
        self.of_the_moment = Focused(folder, self.environment)

    @contextmanager
    def changed(self, mutant: Mutant) -> Iterator[None]:
        """A line is changed."""
        file = self.folder / mutant.file
        text = file.read_text()
        file.write_text(mutant.apply(text))
        try:
            if mutant.file.startswith("model/"):
                self._keep_designs()
            yield
        finally:
            file.write_text(text)

    def run(self, file: str, limit_s: float, arguments: Sequence[str]) -> Found:
        """Run tests after a change of a file."""
        process = self.of_the_moment if file.startswith("model/") else self.focused
        return process.run(limit_s, arguments)

    def object_code(self, file: str, names: Sequence[str]) -> tuple[dict[str, str], float]:
        """The digest of the object code of each design, or of a tool's folder; none if it does not compile."""
        command = [sys.executable, "-m", object_code.__name__, file, *names]
        out = subprocess.PIPE
        asked = subprocess.Popen(
            command, cwd=self.folder, env=self.environment, stdout=out, stderr=subprocess.DEVNULL, text=True
        )
        assert asked.stdout
        said = asked.stdout.read()
        _, status, used = os.wait4(asked.pid, 0)
        asked.returncode = os.waitstatus_to_exitcode(status)
        rows = [line.rpartition(" ") for line in said.splitlines()] if asked.returncode == 0 else []
        return {name: digest for name, _, digest in rows}, used.ru_utime + used.ru_stime

    def _keep_designs(self) -> None:
        """Let tests have the covering designs of the tree without a change: to find others takes longer than the lives.

        A row's refusals, and thus its pairs, are asked by tests of their own.
        """
        covering = importlib.import_module("covering")
        kept = self.cached / "heapsmith" / covering.kept_name(self.folder / "tests/covering.py", self.folder / "model")
        kept.parent.mkdir(parents=True, exist_ok=True)
        write_json(kept, [covering.rows_of(design) for design in covering.covering_designs()])

    def close(self) -> None:
        """End its processes."""
        self.focused.close()
        self.of_the_moment.close()


class Judge:
    """Copies for several threads. A test that fails without the change too notices nothing and is left out."""

    def __init__(self, folder: Path, workers: int, files: Sequence[str]) -> None:
        self._copies = [Copy(folder / str(number), folder / "cache", files) for number in range(workers)]
        self._sound: dict[str, bool] = {}
        self._code: dict[str, str] = {}
        self._lock = threading.Lock()

    def outcome(self, mutant: Mutant, at: str) -> Outcome:
        """Try a mutant in a free copy."""
        with self._lock:
            copy = self._copies.pop()
        begin = time.monotonic()
        tried = Trial(self, copy, mutant)
        by, said = tried.noticed()
        with self._lock:
            self._copies.append(copy)
        line, old, new = mutant.line, mutant.before.strip(), mutant.after.strip()
        seconds = round(time.monotonic() - begin)
        return Outcome(mutant.file, line, old, new, by, said[-200:], at, seconds, round(tried.cpu_s))

    def code(self, copy: Copy, file: str, names: Sequence[str]) -> dict[str, str]:
        """The digests of object code without a change."""
        if not self._code.keys() >= set(names):
            self._code |= copy.object_code(file, [name for name in names if name in designs()])[0]
        return self._code

    def close(self) -> None:
        """End the processes of its copies."""
        for copy in self._copies:
            copy.close()

    def is_sound(self, copy: Copy, file: str, limit_s: float, test: str) -> bool:
        """Whether a test passes without a change."""
        if test not in self._sound:
            passes = copy.run(file, limit_s, ["-m", "", test]).failed is None
            self._sound[test] = passes
            if not self._sound[test]:
                print(f"{test} fails without any change: left out", file=sys.stderr, flush=True)
        return self._sound[test]


class Trial:
    """What is done about one mutant in a copy, and the processor time that it took."""

    def __init__(self, judge: Judge, copy: Copy, mutant: Mutant) -> None:
        self._judge = judge
        self._copy = copy
        self._mutant = mutant
        self.cpu_s = 0.0

    def noticed(self) -> tuple[str, str]:
        """What noticed it and its words: lives, then, if any object code changed, other lives and tests."""
        file = self._mutant.file
        names = having(file)
        first = lives(names)[:DESIGNS]
        found = self._failure(LIVES_S, first)
        if found is None and not file.startswith("model/") and file not in UNCOMPILED:
            differing = self._differing(names[:LOOKED_AT])
            if not differing:
                return (EQUIVALENT if differing is not None else UNBUILT), ""
            others = [name for name in lives(differing) if name not in first]
            found = self._failure(LIVES_S, others[:DESIGNS])
        runs = focused(file)
        while found is None and (run := next(runs, None)):
            found = self._failure(*run)
        if found and re.search(r"\.[chj2]+:\d+:\d+: error: |TemplateSyntaxError", found[1]):
            return UNBUILT, ""
        return found or (SURVIVED, "")

    def _failure(self, limit_s: float, arguments: Sequence[str]) -> tuple[str, str] | None:
        """The first test that fails, but passes without the change."""
        out: list[str] = []
        while arguments:
            with self._copy.changed(self._mutant):
                failed, cpu_s = self._copy.run(self._mutant.file, limit_s, [*arguments, *out])
            self.cpu_s += cpu_s
            if failed is None:
                break
            if self._judge.is_sound(self._copy, self._mutant.file, limit_s, failed[0]):
                return failed
            out += ["--deselect", failed[0]]
        return None

    def _differing(self, names: Sequence[str]) -> list[str] | None:
        """The designs whose object code the change is in, or a tool's folder; None if it does not compile."""
        file = self._mutant.file
        with self._copy.changed(self._mutant):
            codes, cpu_s = self._copy.object_code(file, names)
        self.cpu_s += cpu_s
        if not codes:
            return None
        known = self._judge.code(self._copy, file, list(codes))
        return [name for name, code in codes.items() if code != known[name]]


def read(log: Path) -> dict[str, Outcome]:
    """The outcomes by key. Raises BadInput if the file holds something else."""
    try:
        found = msgspec.json.decode(log.read_bytes(), type=list[Outcome]) if log.exists() else []
    except msgspec.MsgspecError as error:
        raise BadInput(f"{log}: no log of mutants: {error}") from None
    return {key(outcome): outcome for outcome in found}


def summary(sample: Sequence[Mutant], outcomes: dict[str, Outcome], listed: dict[str, Listed]) -> Words:
    """The table by area: drawn, tried, of no use, noticed by lives and by other tests, listed, not noticed."""
    rows = []
    for area in (*AREAS, ""):
        of_area = [mutant for mutant in sample if mutant.file.startswith(area)]
        kinds = Counter(_kind(outcomes.get(key(mutant)), listed) for mutant in of_area)
        tried = sum(count for kind, count in kinds.items() if kind not in ("", UNBUILT, EQUIVALENT, LISTED))
        noticed = tried - kinds[SURVIVED]
        share = f"{100 * noticed / tried:.1f} %" if tried else "-"
        counts = [len(of_area), len(of_area) - kinds[""], kinds[UNBUILT], kinds[EQUIVALENT]]
        counts += [kinds["lives"], kinds["tests"], kinds[LISTED], kinds[SURVIVED]]
        rows.append([f"`{area}`" if area else "all", *map(str, counts), share])
    head = (
        "<area",
        "drawn",
        "tried",
        "do not compile",
        "same object code",
        "noticed by lives",
        "by other tests",
        "listed",
        "not noticed",
        "share noticed",
    )
    return Words("", head, rows)


def _kind(outcome: Outcome | None, listed: dict[str, Listed]) -> str:
    if outcome is None:
        return ""
    if outcome.by == SURVIVED and key(outcome) in listed:
        return LISTED
    if outcome.by in (UNBUILT, EQUIVALENT, SURVIVED):
        return outcome.by
    return "lives" if outcome.by.startswith(LIVES) else "tests"


def main(
    files: Annotated[list[str] | None, typer.Argument(help="Only mutants of files that begin so.")] = None,
    log: Annotated[Path, typer.Option(metavar="FILE", dir_okay=False, help="Where outcomes are kept.")] = LOG,
    size: Annotated[int, typer.Option(min=1, help="Mutants in all.")] = sum(AREAS.values()),
    workers: Annotated[int, typer.Option(min=1, help="Mutants at a time.")] = 2,
    again: Annotated[bool, typer.Option("--again", help="Try those not noticed once more.")] = False,
    show: Annotated[bool, typer.Option("--table", help="Only print what the log holds, as Markdown.")] = False,
) -> int:
    """Try the sample; 1 if fewer than 97 of 100 that compile and are not listed are noticed."""
    sample = [one for one in drawn(size) if not files or one.file.startswith(tuple(files))]
    listed = {key(one): one for one in table().listed}
    outcomes = read(log)
    due = [one for one in sample if not (found := outcomes.get(key(one))) or (again and found.by == SURVIVED)]
    if not show:
        _try(due, outcomes, log, workers)
    print("\n".join(section(summary(sample, outcomes, listed))))
    known = [found for one in sample if (found := outcomes.get(key(one)))]
    survivors = [one for one in known if _kind(one, listed) == SURVIVED]
    for one in survivors:
        print(f"{one.file}:{one.line}: {one.before}  =>  {one.after or '(deleted)'}")
    tried = [one for one in known if _kind(one, listed) not in (UNBUILT, EQUIVALENT, LISTED)]
    return int(100 * (len(tried) - len(survivors)) < LEAST_PERCENT * len(tried))


def _try(due: Sequence[Mutant], outcomes: dict[str, Outcome], log: Path, workers: int) -> None:
    """Try mutants, several at a time, and write each outcome to the log."""
    at = commit()
    files = {"tests/test_conformance.py", *(test for tests in table().focus.values() for test in tests)}
    designs()
    with ThreadPoolExecutor(workers) as pool:
        judge = Judge(log.absolute().with_suffix(""), workers, sorted(files))
        tried = [pool.submit(judge.outcome, mutant, at) for mutant in due]
        try:
            for outcome in (one.result() for one in as_completed(tried)):
                outcomes[key(outcome)] = outcome
                log.parent.mkdir(parents=True, exist_ok=True)
                write_json(log, list(outcomes.values()))
                took = f"{outcome.seconds:4} s, {outcome.cpu_s} of processors"
                print(f"{took}  {outcome.file}:{outcome.line}  {outcome.by}", file=sys.stderr, flush=True)
        finally:
            pool.shutdown(cancel_futures=True)
            judge.close()


if __name__ == "__main__":
    exit_with(main)
