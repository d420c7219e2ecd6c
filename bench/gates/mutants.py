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
from functools import cache
from itertools import islice
from pathlib import Path
from typing import Annotated, Any

import msgspec
import typer

from heapsmith.bench.common.command import exit_with
from heapsmith.bench.common.commit import commit
from heapsmith.bench.gates import mutating, mutating_python
from heapsmith.bench.gates.mutating import Mutant
from heapsmith.codegen import rooms
from heapsmith.codegen.generate import pieces
from heapsmith.model.design.design import Design
from heapsmith.model.design.plan import make_plan
from heapsmith.model.errors import BadInput
from heapsmith.model.files import scratch, write_json
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
LINES = "tests/test_lines.py::test_the_library_touches_the_lines_that_the_model_says"
DESIGNS = 3  # whose lives are judges of a file
LIVES = "tests/test_conformance.py::test_a_few_lives_of_every_pair_of_policies"
LIMIT_S = 900  # for tests that a mutant lets run for ever
OPTIONS = ("-x", "-q", "--hypothesis-profile=unshrunk", "-p", "no:cacheprovider")
FAILED = re.compile(r"^(?:FAILED|ERROR) (\S+?)(?: - (.*))?$", re.MULTILINE)
NO_BYTECODE = {"PYTHONDONTWRITEBYTECODE": "1"}  # its date and size may be those of another change
NO_TESTS = 5  # pytest's status where nothing is to be run

UNBUILT = "does not compile"
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
    """What became of a mutant: the test that noticed it, UNBUILT, LISTED or SURVIVED."""

    file: str
    line: int
    before: str
    after: str
    by: str
    said: str
    commit: str
    seconds: int


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
def _covering() -> Any:
    """The tests' module of covering designs."""
    sys.path.insert(0, str(ROOT / "tests"))
    return importlib.import_module("covering")


@cache
def _designs() -> list[Design]:
    """The covering designs of the tests."""
    found: list[Design] = _covering().covering_designs()
    return found


@cache
def files_of(design: str) -> frozenset[str]:
    """The files of the areas that the library of a covering design is made of, and the rows of its model."""
    plan = make_plan(next(one for one in _designs() if one.name == design))
    found = {str(file.resolve().relative_to(ROOT)) for file in [*rooms.sources(plan), *pieces(plan)]}
    for rows in rooms.rows(plan).values():
        found |= {str(Path(row.__file__ or "").resolve().relative_to(ROOT)) for row in rows}
        found |= {f"templates/{rooms.room_of(row)}/{row.NAME}.j2" for row in rows}
    return frozenset(found)


def judges(file: str) -> list[str]:
    """The covering designs whose lives are judges of a file: the first that have it, by a lot, or any."""
    names = sorted((design.name for design in _designs()), key=lambda name: hashlib.sha256(name.encode()).digest())
    having = (name for name in names if file in files_of(name))
    return list(islice(having, DESIGNS)) or names[:DESIGNS]


def stages(file: str) -> Iterator[list[str]]:
    """The arguments of pytest for each stage of a file's focused run; those that take least come first."""
    if file.startswith(("runtime/heap/", "templates/", "model/")):
        yield [f"{LIVES}[{name}]" for name in judges(file)]
    if file.startswith("model/"):
        yield ["-m", "big or not big", *(f"{LINES}[{name}]" for name in ("default", *judges(file)[:2]))]
    focus = table().focus
    begins = max((begin for begin in focus if file.startswith(begin)), key=len)
    if file.endswith(".py"):
        yield ["-m", "quick", *focus[begins]]
    yield ["-m", "not big", *focus[begins]]


class Copy:
    """A copy of the tree in which lines are changed and tests run."""

    def __init__(self, folder: Path, cached: Path) -> None:
        self.folder = folder
        self.cached = cached
        names = subprocess.run(["git", "-C", ROOT, "ls-files", "-z"], capture_output=True, text=True, check=True).stdout
        for name in filter(None, names.split("\0")):
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, folder / name, follow_symlinks=False)
        self.environment = {
            **{name: text for name, text in os.environ.items() if name != "CI"},
            "PYTHONPATH": str(folder / "src"),
            **NO_BYTECODE,
            "XDG_CACHE_HOME": str(cached),
            "HEAPSMITH_SEED": SEED,
        }

    def failure(self, arguments: Sequence[str]) -> tuple[str, str] | None:
        """The test that fails first and what it says; None if all pass."""
        command = [sys.executable, "-m", "pytest", *OPTIONS, *arguments]
        tests = subprocess.Popen(
            command,
            cwd=self.folder,
            env=self.environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
            start_new_session=True,
        )
        try:
            said, _ = tests.communicate(timeout=LIMIT_S)
        except subprocess.TimeoutExpired:
            os.killpg(tests.pid, 9)
            tests.communicate()
            return arguments[-1], f"did not end in {LIMIT_S} s"
        if tests.returncode in (0, NO_TESTS):
            return None
        found = FAILED.search(said)
        if found is None:
            return arguments[-1], said.strip().rpartition("\n")[2]
        return found[1], UNBUILT if re.search(r"\.[chj2]+:\d+:\d+: error: |TemplateSyntaxError", said) else found[
            2
        ] or ""

    def changed(self, mutant: Mutant, run: Sequence[list[str]]) -> tuple[str, str] | None:
        """The same with a line changed: the failure of the first stage of its run that has one."""
        file = self.folder / mutant.file
        text = file.read_text()
        file.write_text(mutant.apply(text))
        try:
            if mutant.file.startswith("model/"):
                self._keep_designs()
            return next(filter(None, map(self.failure, run)), None)
        finally:
            file.write_text(text)

    def _keep_designs(self) -> None:
        """Let tests have the covering designs of the tree without a change: to find others takes longer than the lives.

        A row's refusals, and thus its pairs, are asked by tests of their own.
        """
        covering = _covering()
        kept = self.cached / "heapsmith" / covering.kept_name(self.folder / "tests/covering.py", self.folder / "model")
        kept.parent.mkdir(parents=True, exist_ok=True)
        write_json(kept, [covering.rows_of(design) for design in _designs()])


class Judge:
    """Copies for several threads, and one without a change: a test that fails there too notices nothing."""

    def __init__(self, folder: Path, workers: int) -> None:
        self._copies = [Copy(folder / str(number), folder / "cache") for number in range(workers)]
        self._pristine = Copy(folder / "pristine", folder / "cache")
        self._sound: set[str] = set()
        self._lock = threading.Lock()

    def outcome(self, mutant: Mutant, run: Sequence[list[str]], at: str) -> Outcome:
        """Try a mutant in a free copy, stage by stage. Raises BadInput where a test fails without the mutant."""
        with self._lock:
            copy = self._copies.pop()
        begin = time.monotonic()
        found = copy.changed(mutant, run)
        with self._lock:
            self._copies.append(copy)
            if found and found[1] != UNBUILT and found[0] not in self._sound:
                if self._pristine.failure([found[0]]):
                    raise BadInput(f"{found[0]} fails without any change; expected tests that pass")
                self._sound.add(found[0])
        by, said = found or (SURVIVED, "")
        line, before, after = mutant.line, mutant.before.strip(), mutant.after.strip()
        by = UNBUILT if said == UNBUILT else by
        return Outcome(mutant.file, line, before, after, by, said[:200], at, round(time.monotonic() - begin))


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
        tried = sum(count for kind, count in kinds.items() if kind not in ("", UNBUILT, LISTED))
        noticed = tried - kinds[SURVIVED]
        share = f"{100 * noticed / tried:.1f} %" if tried else "-"
        counts = [len(of_area), kinds[UNBUILT], kinds["lives"], kinds["tests"], kinds[LISTED], kinds[SURVIVED]]
        rows.append([f"`{area}`" if area else "all", *map(str, counts), share])
    head = (
        "<area",
        "drawn",
        "do not compile",
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
    if outcome.by in (UNBUILT, SURVIVED):
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
    tried = [one for one in known if _kind(one, listed) not in (UNBUILT, LISTED)]
    return int(100 * (len(tried) - len(survivors)) < LEAST_PERCENT * len(tried))


def _try(due: Sequence[Mutant], outcomes: dict[str, Outcome], log: Path, workers: int) -> None:
    """Try mutants, several at a time, and write each outcome to the log."""
    at = commit()
    with scratch() as folder, ThreadPoolExecutor(workers) as pool:
        judge = Judge(folder, workers)
        runs = {file: list(stages(file)) for file in {mutant.file for mutant in due}}  # of the tree as it is now
        tried = [pool.submit(judge.outcome, mutant, runs[mutant.file], at) for mutant in due]
        for outcome in (one.result() for one in as_completed(tried)):
            outcomes[key(outcome)] = outcome
            log.parent.mkdir(parents=True, exist_ok=True)
            write_json(log, list(outcomes.values()))
            print(f"{outcome.seconds:4} s  {outcome.file}:{outcome.line}  {outcome.by}", file=sys.stderr, flush=True)


if __name__ == "__main__":
    exit_with(main)
