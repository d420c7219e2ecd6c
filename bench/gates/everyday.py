"""Everyday programs: each must do under the recorder and under two designs what it does without.

python -m heapsmith.bench.gates.everyday [PROGRAM]... [--limit 120] [--json FILE], or make everyday

Each program of everyday.toml that is here runs twice, for its version and for a real job, as it is
and in every way of WAYS, in a new folder each time. Exit status and standard output must be those
of the plain run. Where two plain runs differ in their output, only the status counts.
"""

import os
import shlex
import shutil
import sys
import tomllib
from pathlib import Path
from typing import Annotated

import msgspec
import typer

from heapsmith.bench.common.command import exit_with
from heapsmith.bench.programs import inputs
from heapsmith.model.errors import BadInput, CheckFailed
from heapsmith.model.files import cache_dir, scratch, write_json, write_text
from heapsmith.tools.common.limited import run_limited
from heapsmith.tools.common.parallel import in_parallel
from heapsmith.tools.common.tables import Words, draw

PROGRAMS = Path(__file__).with_name("everyday.toml")
HEAPSMITH = [sys.executable, "-m", "heapsmith"]
WAYS = {
    "record": [*HEAPSMITH, "record", "--only", "-o", "../out.hst", "--"],
    "record --stacks": [*HEAPSMITH, "record", "--only", "--stacks", "-o", "../out.hst", "--"],
    "run default": [*HEAPSMITH, "run", "default", "--"],
    "run hardened": [*HEAPSMITH, "run", "hardened", "--"],
}
SAME = "same"


class Run(msgspec.Struct, frozen=True):
    """What a run came to. `status`: negative for a signal, None for a run that was killed at the limit."""

    status: int | None
    out: str
    errors: str


class Row(msgspec.Struct, frozen=True):
    """One program: for its version and its job, how each way compares with the plain run."""

    program: str
    version: dict[str, str]
    job: dict[str, str]

    def faults(self) -> list[str]:
        """A line for each way that was not the same."""
        runs = (("version", self.version), ("job", self.job))
        return [
            f"{self.program}, {what}, {way}: {word}"
            for what, ways in runs
            for way, word in ways.items()
            if word != SAME
        ]


def programs() -> dict[str, tuple[str, str]]:
    """The command for its version and for its job, of each program of PROGRAMS that is on PATH."""
    content = _content()
    versions = content["version"]
    return {
        name: (versions.get(name, f"{name} --version"), job) for name, job in content["jobs"].items() if _is_here(name)
    }


def _content() -> dict[str, dict[str, str]]:
    """The tables of PROGRAMS."""
    return tomllib.loads(PROGRAMS.read_text(encoding="utf-8"))


def _is_here(name: str) -> bool:
    """Two programs lie outside PATH on Debian."""
    outside = {"postgres": "/usr/lib/postgresql/*/bin/postgres", "cc1": "/usr/lib/gcc/*/*/cc1"}
    if name in outside:
        return any(Path("/").glob(outside[name].lstrip("/")))
    return shutil.which(name) is not None


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
    for name, content in _content()["files"].items():
        write_text(folder / name, content)


def run(command: str, way: list[str], inputs_folder: Path, limit_s: float) -> Run:
    """Run the command of sh(1) in a copy of the inputs."""
    with scratch() as folder:
        place = folder / "job"
        shutil.copytree(inputs_folder, place, symlinks=True)
        folder.chmod(0o755)  # the job of postgres runs as another user
        environment = {key: value for key, value in os.environ.items() if key not in ("LD_PRELOAD", "DISPLAY")}
        environment |= {
            "HOME": str(folder),
            "TMPDIR": str(folder),
            "XDG_CACHE_HOME": str(cache_dir().parent),
            "TERM": "dumb",
        }
        environment.setdefault("RUSTUP_HOME", str(Path.home() / ".rustup"))  # rustc may be a link to rustup
        words = [*way, "sh", "-c", f"cd {shlex.quote(str(place))}\n{command}"]
        with open(folder / "out", "wb+") as out, open(folder / "errors", "wb+") as errors:
            try:
                status = run_limited(words, limit_s, env=environment, stdout=out, stderr=errors).returncode
            except CheckFailed:
                status = None
            out.seek(0)
            errors.seek(0)
            # a job may print the names of its folder, which differ
            texts = [file.read().decode(errors="replace").replace(str(folder), "FOLDER") for file in (out, errors)]
        return Run(status, *texts)


def compared(plain: Run, steady: bool, other: Run) -> str:
    """How a run compares with the plain one, in words; SAME if it does not differ."""
    if other.status is None:
        return "hangs"
    if other.status != plain.status:
        last = (other.errors.strip().splitlines() or [""])[-1]
        return f"status {other.status} for {plain.status}: {last[:200]}"
    return SAME if not steady or other.out == plain.out else "other output"


def tried(command: str, inputs_folder: Path, limit_s: float) -> dict[str, str]:
    """How each way of WAYS compares with the plain run of the command."""
    plain, again = (run(command, [], inputs_folder, limit_s) for _ in range(2))
    if plain.status is None:
        return dict.fromkeys(WAYS, f"left out: the plain run had not ended after {limit_s:.0f} s")
    steady = plain.out == again.out
    return {name: compared(plain, steady, run(command, way, inputs_folder, limit_s)) for name, way in WAYS.items()}


def everyday(names: list[str], limit_s: float) -> list[Row]:
    """A row for each program; all that are here if `names` is empty. Raises BadInput for a name that is not here."""
    here = programs()
    if missing := set(names) - set(here):
        raise BadInput(f"{', '.join(sorted(missing))}: not in {PROGRAMS.name}, or not on PATH")
    with scratch() as folder:
        prepare(folder)

        def row(name: str) -> Row:
            version, job = (tried(command, folder, limit_s) for command in here[name])
            return Row(name, version, job)

        def progress(what: str, done: int, total: int) -> None:
            print(f"{what}: {done} of {total}", file=sys.stderr, flush=True)

        return in_parallel("programs", row, names or list(here), progress)


def main(
    names: Annotated[list[str] | None, typer.Argument(metavar="PROGRAM")] = None,
    limit: Annotated[float, typer.Option(min=1, help="Seconds after which a run counts as hanging.")] = 120,
    json: Annotated[Path | None, typer.Option()] = None,
) -> int:
    """Print a row for each way, and a line for each fault; 1 if there is one."""
    rows = everyday(names or [], limit)
    if json is not None:
        write_json(json, rows)
    table = []
    for way in WAYS:
        words = [[of[way] for of in (row.version, row.job)] for row in rows]
        same = [str(sum(pair[index] == SAME for pair in words)) for index in (0, 1)]
        table.append([way, *same, str(sum("hangs" in pair for pair in words))])
    draw(Words(f"{len(rows)} programs", ("way", "versions same", "jobs same", "hang"), table))
    faults = [fault for row in rows for fault in row.faults()]
    print(*faults, sep="\n")
    return int(bool(faults))


if __name__ == "__main__":
    exit_with(main)
