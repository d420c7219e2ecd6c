"""Mutants are tried in copies of the tree: lives of library and model, the object code, then the tests of the file.

Lives are those of designs that have the file. If none notices the mutant, the object code tells the designs in which
it changes anything. Then the tests run that bench/gates/mutants.toml names for the file.
"""

import importlib
import os
import re
import shutil
import subprocess
import sys
import threading
import time
import tomllib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from itertools import islice
from pathlib import Path
from typing import NamedTuple

import msgspec

from heapsmith.bench.gates import object_code
from heapsmith.bench.gates.focused import ENDED, Focused, Found
from heapsmith.bench.gates.mutating import Mutant
from heapsmith.bench.gates.object_code import known_designs
from heapsmith.codegen import rooms
from heapsmith.codegen.generate import pieces
from heapsmith.model.design.design import Design
from heapsmith.model.design.plan import make_plan
from heapsmith.model.files import write_json

FILE = Path(__file__).resolve().with_name("mutants.toml")
ROOT = FILE.parents[2]
SEED = "1"
LIVES = "tests/test_conformance.py::test_a_few_lives_of_every_pair_of_policies"
LINES = "tests/test_lines.py::test_lines_of_each_row"
EXITS = "tests/test_lines.py::test_lines_of_threads_that_exit"
PLAYS = "tests/test_programs.py::"
DESIGNS = 3  # whose lives are judges of a line
LOOKED_AT = 12  # designs whose object code says whether a line changes anything
LIVES_S, TESTS_S = 60.0, 300.0  # of processor time, for runs that a mutant never lets end
COMPILED = ("bench", "codegen", "model", "src", "tools")
UNCOMPILED = ("templates/heapsmith.h.j2",)  # of which no library is made


UNBUILT = "does not compile"
EQUIVALENT = "the object code stays"
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


def table() -> Table:
    """The table of this file's folder."""
    return msgspec.convert(tomllib.loads(FILE.read_text()), Table)


class Tried(NamedTuple):
    """What noticed a mutant (a test, or UNBUILT, EQUIVALENT, SURVIVED), its words, and how long that took."""

    by: str
    said: str
    seconds: int
    cpu_s: int


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
    """The first designs that have a file: all have what rows of the model or templates share."""
    found = list(islice((name for name in designs() if file in files_of(name)), LOOKED_AT))
    return found or ([] if file.startswith("runtime/") else list(designs())[:LOOKED_AT])


def lives(names: Sequence[str]) -> list[str]:
    """The tests of a few lives of those of the designs that are covering ones."""
    return [f"{LIVES}[{name}]" for name in names if name.startswith("covering-")]


def focused(file: str) -> Iterator[tuple[float, list[str]]]:
    """The runs of tests behind the lives, each with its limit in seconds: those that take least come first.

    Last, the longer forms of each file: what only these notice is noticed.
    """
    if file.startswith("model/"):
        with_lines = [one.name for one in importlib.import_module("covering").with_every_row(of_processors=False)]
        names = [name for name in having(file) if name in with_lines][: DESIGNS + 1]
        yield TESTS_S, ["-m", "not big", *(f"{LINES}[{name}]" for name in (*names, "sampling-ready")), EXITS]
    focus = table().focus
    tests = focus[max((begin for begin in focus if file.startswith(begin)), key=len)]
    plays = [test for test in tests if test.startswith(PLAYS)]
    yield from ((TESTS_S, ["-m", "not big", test]) for test in plays)
    whole = [test for test in tests if "::" not in test]
    yield from ([(TESTS_S, whole)] if file.endswith(".py") else ((TESTS_S, [test]) for test in whole))
    if single := [test for test in tests if "::" in test and test not in plays]:
        yield TESTS_S, ["-m", "not big", *single]
    yield from ((TESTS_S, ["-m", "thorough and not big", test]) for test in whole)


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
        }
        compiling = ["-m", "compileall", "-q", "--invalidation-mode", "checked-hash", *COMPILED]
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

    def try_out(self, mutant: Mutant) -> Tried:
        """Try a mutant in a free copy."""
        with self._lock:
            copy = self._copies.pop()
        begin = time.monotonic()
        trial = Trial(self, copy, mutant)
        by, said = trial.noticed()
        with self._lock:
            self._copies.append(copy)
        return Tried(by, said[-200:], round(time.monotonic() - begin), round(trial.cpu_s))

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
        """Whether a test passes without a change, or a file that failed as a whole is read."""
        if test not in self._sound:
            alone = ["--collect-only"] if "::" not in test else []
            passes = copy.run(file, limit_s, ["-m", "", *alone, test]).failed is None
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
            differing = self._differing(names)
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
            if ENDED in failed[1] and "::" in failed[0] and [one for one in arguments if "::" in one] != [failed[0]]:
                return self._failure(limit_s, ["-m", "", failed[0]])  # alone: the tests before it took time too
            if self._judge.is_sound(self._copy, self._mutant.file, limit_s, failed[0]):
                return failed
            out += ["--deselect", failed[0]]
        return None

    def _differing(self, names: Sequence[str]) -> list[str] | None:
        """Designs whose object code the change is in, or a tool's folder; None if it does not compile.

        No more designs are asked than tell it; the first ones, whose lives were judges, are asked last.
        """
        file = self._mutant.file
        names = [*names[DESIGNS:], *names[:DESIGNS]]
        for at in range(0, max(1, len(names)), DESIGNS):
            with self._copy.changed(self._mutant):
                codes, cpu_s = self._copy.object_code(file, names[at : at + DESIGNS])
            self.cpu_s += cpu_s
            if not codes:
                return None
            known = self._judge.code(self._copy, file, list(codes))
            if differing := [name for name, code in codes.items() if code != known[name]]:
                return differing
        return []
