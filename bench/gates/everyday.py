"""Everyday programs: each must do under the recorder, under designs and beside other mallocs what it does without.

python -m heapsmith.bench.gates.everyday [PROGRAM]... [--limit 120] [--json FILE], or make everyday

Each program of everyday.toml that is here runs as it is and in every way of WAYS, in a new folder
each time: a real job of it, and its version in the ways of `ways_of_version`, each by a shell only
if it needs one. The end and both outputs must be those of the plain run; an output in which two
plain runs differ does not count. Programs whose rows the JSON file holds do not run again unless
they are named. docs/everyday.md is made of everyday.json (everyday_page.py).
"""

import os
import re
import shutil
import subprocess
import sys
import threading
import tomllib
from functools import cache
from pathlib import Path
from typing import Annotated

import msgspec
import typer

from heapsmith.bench.common.command import exit_with
from heapsmith.bench.common.commit import commit
from heapsmith.bench.programs import inputs
from heapsmith.codegen.built import library_of
from heapsmith.model.design.design import load
from heapsmith.model.errors import BadInput, CheckFailed
from heapsmith.model.files import cache_dir, scratch, write_json, write_text
from heapsmith.tools.common.limited import run_limited
from heapsmith.tools.common.parallel import in_parallel
from heapsmith.tools.common.preload import preloadable
from heapsmith.tools.common.tables import Words, draw

PROGRAMS = Path(__file__).with_name("everyday.toml")
RELEASE = Path("/etc/debian_version")
HEAPSMITH = [sys.executable, "-m", "heapsmith"]
BY_HAND = "LD_PRELOAD"
COMPARE = "compare"
WAYS = {
    "record": [*HEAPSMITH, "record", "--only", "-o", "../out.hst", "--"],
    "record --stacks": [*HEAPSMITH, "record", "--only", "--stacks", "-o", "../out.hst", "--"],
    "run default": [*HEAPSMITH, "run", "default", "--"],
    "run hardened": [*HEAPSMITH, "run", "hardened", "--"],
    BY_HAND: ["env"],
    COMPARE: [*HEAPSMITH, "compare", "--rounds", "1", "--lib", "glibc", "--lib", "default", "--"],
}
"""What goes before a command. The library of BY_HAND is built first. COMPARE shows no output of the command: it
compares two runs itself. It is tried with a sample."""
SAME = "same"
REFUSED = "refused: "
"""Of a program that cannot be served: heapsmith starts nothing and says why."""
_OURS = re.compile(r"heapsmith: .*\n?")
_NEEDS_SHELL = re.compile(r"[^\w ./+:,@%$-]")


class Run(msgspec.Struct, frozen=True):
    """What a run came to. `status`: negative for a signal, None for a run that was killed at the limit."""

    status: int | None
    out: str
    errors: str


class Row(msgspec.Struct, frozen=True):
    """One program: how each way compares with the plain run, of its version and of its job.

    package: Debian's, with its version; empty for a program of another origin. commit: of heapsmith. steady: what of
    the job's outputs was the same in two plain runs.
    """

    program: str
    package: str
    commit: str
    steady: str
    version: dict[str, str]
    job: dict[str, str]

    def cells(self) -> list[tuple[str, str, str]]:
        """What ran, the way, and how it compares."""
        runs = (("version", self.version), ("job", self.job))
        return [(what, way, word) for what, ways in runs for way, word in ways.items()]

    def faults(self) -> list[str]:
        """A line for each way that was not the same and that heapsmith did not refuse."""
        return [
            f"{self.program}, {what}, {way}: {word}"
            for what, way, word in self.cells()
            if word != SAME and not word.startswith(REFUSED)
        ]


class Results(msgspec.Struct, frozen=True):
    """What the JSON file holds. debian: its release; empty on another system."""

    debian: str
    limit_s: float
    rows: list[Row]


def programs() -> dict[str, tuple[str, str]]:
    """The command for its version and for its job, of each program of PROGRAMS that is here."""
    content = contents()
    versions = content["version"]
    return {
        name: (versions.get(name, f"{name} --version"), job)
        for name, job in content["jobs"].items()
        if _path(name) is not None
    }


def contents() -> dict[str, dict[str, str]]:
    """The tables of PROGRAMS."""
    return tomllib.loads(PROGRAMS.read_text(encoding="utf-8"))


def _path(name: str) -> str | None:
    """The file of a program, or of what makes it; None for a program that is not here."""
    outside = contents()["outside"].get(name)
    if outside is None:
        return shutil.which(name)
    return next(map(str, Path("/").glob(outside.lstrip("/"))), None)


def _package(name: str) -> str:
    """Debian's package of a program and its version; empty where there is none."""
    file = _path(name)
    if name in contents()["made"] or file is None or shutil.which("dpkg-query") is None:
        return ""
    for path in dict.fromkeys((os.path.realpath(file), file, os.path.realpath(file).removeprefix("/usr"))):
        found = subprocess.run(["dpkg-query", "-S", path], capture_output=True, text=True, check=False).stdout
        if owner := found.partition(": ")[0].partition(",")[0]:
            show = ["dpkg-query", "-W", "-f", "${Package} ${Version}", owner]
            return subprocess.run(show, capture_output=True, text=True, check=True).stdout
    return ""


def prepare(folder: Path) -> None:
    """Write the inputs of all jobs into the new folder."""
    inputs.text(folder / "text.txt", 3000)
    inputs.text(folder / "words.txt", 1000, seed=2)
    inputs.sql(folder / "script.sql", 3000)
    inputs.c_source(folder / "source.c", 60)
    inputs.cxx_source(folder / "source.cc", 1)
    inputs.xml(folder / "document.xml", 500)
    inputs.smt(folder / "problem.smt2", 6, 8)
    inputs.tree(folder / "tree", 30)
    inputs.repository(folder / "repository", 30)
    inputs.make_project(folder, 4)
    data = [{"id": k, "tags": [k % 7, k % 11], "name": f"n{k}"} for k in range(2000)]
    write_text(folder / "data.json", msgspec.json.encode(data).decode())
    for name, content in contents()["files"].items():
        write_text(folder / name, content)
    made = folder / "made"
    made.mkdir()
    folder.chmod(0o755)
    for name, command in contents()["made"].items():
        if _path(name) is not None:
            subprocess.run(["sh", "-c", command], cwd=made, check=True)


def run(command: str, way: list[str], inputs_folder: Path, limit_s: float) -> Run:
    """Run the command in a copy of the inputs: by sh(1) if it needs a shell. $MADE is the folder of made programs."""
    made = inputs_folder / "made"
    with scratch() as folder:
        place = folder / "job"
        unused = ["made", *(name for name in ("repository", "tree") if name not in command)]
        shutil.copytree(inputs_folder, place, symlinks=True, ignore=shutil.ignore_patterns(*unused))
        for path in (folder, place):
            path.chmod(0o755)  # some jobs run as another user
        environment = {key: value for key, value in os.environ.items() if key not in ("LD_PRELOAD", "DISPLAY")}
        environment |= {
            "HOME": str(folder),
            "TMPDIR": str(folder),
            "MADE": str(made),
            "XDG_CACHE_HOME": str(cache_dir().parent),
            "TERM": "dumb",
            "PATH": f"{environment.get('PATH', '')}:/usr/sbin:/sbin",
        }
        environment.setdefault("RUSTUP_HOME", str(Path.home() / ".rustup"))  # rustc may be a link to rustup
        argv = [word.replace("$MADE", str(made)) for word in command.split()]
        words = ["sh", "-c", command] if _NEEDS_SHELL.search(command.replace("$MADE", "")) else argv
        with open(folder / "out", "wb+") as out, open(folder / "errors", "wb+") as errors:
            try:
                status = run_limited(
                    ["env", "-C", str(place), *way, *words], limit_s, env=environment, stdout=out, stderr=errors
                ).returncode
            except CheckFailed:
                status = None
            out.seek(0)
            errors.seek(0)
            texts = [named_alike(file.read().decode(errors="replace"), folder, made) for file in (out, errors)]
        return Run(status, *texts)


def named_alike(text: str, folder: Path, made: Path) -> str:
    """A text without names that differ from run to run, or from one machine to another."""
    for path, name in ((folder, "FOLDER"), (made, "MADE"), (cache_dir(), "CACHE")):
        text = text.replace(str(path), name)
    return text


def compared(plain: Run, again: Run, other: Run) -> str:
    """How a run compares with two plain ones, in words; SAME if it does not differ from them."""
    said = "".join(_OURS.findall(other.errors)).strip()
    errors = _OURS.sub("", other.errors)
    if other.status is None:
        return "hangs"
    if other.status != plain.status:
        if other.status in (2, 3) and said and not errors and not other.out:
            return REFUSED + said
        return f"status {other.status} for {plain.status}: {_last(other.errors)}"
    if plain.out == again.out != other.out:
        return "other output"
    if plain.errors == again.errors != errors:
        known = plain.errors.splitlines()
        return f"other errors: {_last(chr(10).join(line for line in errors.splitlines() if line not in known))}"
    return SAME


def _last(text: str) -> str:
    """The last line, or its begin."""
    return (text.strip().splitlines() or [""])[-1][:200]


def ways_of_job(name: str) -> dict[str, list[str]]:
    """The ways in which the job of a program runs."""
    return {way: words for way, words in WAYS.items() if way != COMPARE or name in contents()["sample"]["compare"]}


def ways_of_version(name: str) -> dict[str, list[str]]:
    """The ways in which its version does: by hand, and for a sample also started by heapsmith itself."""
    wanted = {BY_HAND, *(["run default"] if name in contents()["sample"]["directly"] else [])}
    return {way: words for way, words in WAYS.items() if way in wanted}


def tried(command: str, ways: dict[str, list[str]], inputs_folder: Path, limit_s: float) -> tuple[dict[str, str], str]:
    """How each way compares with the plain runs of the command, and what of these was steady."""
    plain, again = (run(command, [], inputs_folder, limit_s) for _ in range(2))
    if plain.status is None:
        return dict.fromkeys(ways, f"left out: the plain run had not ended after {limit_s:.0f} s"), ""
    parts = {"status": plain.status == again.status, "output": plain.out == again.out}
    steady = ", ".join(what for what, is_same in (parts | {"errors": plain.errors == again.errors}).items() if is_same)
    found = {}
    for way, words in ways.items():
        other = run(command, [*words, *([_by_hand()] if way == BY_HAND else [])], inputs_folder, limit_s)
        if way == COMPARE:
            found[way] = SAME if other.status == 0 else f"status {other.status}: {_last(other.errors)}"
        else:
            found[way] = compared(plain, again, other)
    return found, steady


@cache
def _by_hand() -> str:
    """The assignment that preloads the library of a design."""
    return f"LD_PRELOAD={preloadable(library_of(load('default')))}"


def everyday(names: list[str], limit_s: float, json: Path | None = None) -> list[Row]:
    """A row for each program; all that are here if `names` is empty. Raises BadInput for a name that is not here.

    With a file, each row is written at once, and rows that it has are not made again but for those of `names`.
    """
    here = programs()
    if missing := set(names) - set(here):
        raise BadInput(f"{', '.join(sorted(missing))}: not in {PROGRAMS.name}, or not on PATH")
    rows = {} if json is None or not json.exists() else {row.program: row for row in results(json).rows}
    at, debian, lock = commit(), RELEASE.read_text().strip() if RELEASE.exists() else "", threading.Lock()
    with scratch() as folder:
        prepare(folder)

        def work(name: str) -> None:
            version, job = here[name]
            direct, _ = tried(version, ways_of_version(name), folder, limit_s)
            found, steady = tried(job, ways_of_job(name), folder, limit_s)
            with lock:
                rows[name] = Row(name, _package(name), at, steady, direct, found)
                if json is not None:
                    write_json(
                        json, Results(debian, limit_s, [rows[known] for known in contents()["jobs"] if known in rows])
                    )

        def progress(what: str, done: int, total: int) -> None:
            print(f"{what}: {done} of {total}", file=sys.stderr, flush=True)

        in_parallel("programs", work, names or [name for name in here if name not in rows], progress)
    return [rows[name] for name in contents()["jobs"] if name in rows]


def results(path: Path) -> Results:
    """What a file of an earlier run holds. Raises BadInput for another file."""
    try:
        return msgspec.json.decode(path.read_bytes(), type=Results)
    except (OSError, msgspec.MsgspecError) as error:
        raise BadInput(f"{path}: expected rows of everyday programs: {error}") from None


def counts(rows: list[Row]) -> Words:
    """A row for each way: how many versions and jobs were the same, refused, other."""
    table = []
    for way in WAYS:
        words = [
            [word for of, at, word in row.cells() if (of, at) == (what, way)]
            for what in ("version", "job")
            for row in rows
        ]
        flat = [word for found in words for word in found]
        same, refused = flat.count(SAME), sum(word.startswith(REFUSED) for word in flat)
        table.append([way, *map(str, (len(flat), same, refused, len(flat) - same - refused))])
    return Words(f"{len(rows)} programs", ("<way", "runs", "same", "refused", "other"), table)


def main(
    names: Annotated[list[str] | None, typer.Argument(metavar="PROGRAM")] = None,
    limit: Annotated[float, typer.Option(min=1, help="Seconds after which a run counts as hanging.")] = 120,
    json: Annotated[Path | None, typer.Option(help="Holds the rows; a run goes on where it was interrupted.")] = None,
) -> int:
    """Print a row for each way, and a line for each fault; 1 if there is one."""
    rows = everyday(names or [], limit, json)
    draw(counts(rows))
    faults = [fault for row in rows for fault in row.faults()]
    print(*faults, sep="\n")
    return int(bool(faults))


if __name__ == "__main__":
    exit_with(main)
