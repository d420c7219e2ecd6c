"""Runs everyday programs: their commands and inputs, alone or many by one start of heapsmith."""

import os
import re
import shlex
import shutil
import subprocess
import tomllib
from collections.abc import Sequence
from pathlib import Path

import msgspec

from heapsmith.bench.programs import inputs
from heapsmith.model.errors import CheckFailed
from heapsmith.model.files import cache_dir, scratch, write_text
from heapsmith.tools.common.limited import run_limited

PROGRAMS = Path(__file__).with_name("everyday.toml")
KILLED = 137
"""The status of timeout(1) that had to kill a command."""
START_S = 120
"""What heapsmith may take beside the jobs that it starts."""
_NEEDS_SHELL = re.compile(r"[^\w ./+:,@%$-]")


class Run(msgspec.Struct, frozen=True):
    """What a run came to. `status`: negative or 128 + n for a signal, None for a run that was killed at the limit."""

    status: int | None
    out: str
    errors: str


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


def package(name: str) -> str:
    """Debian's package of a program and its version; empty where there is none."""
    file = _path(name)
    if name in contents()["made"] or file is None or shutil.which("dpkg-query") is None:
        return ""
    for path in dict.fromkeys((os.path.realpath(file), file, os.path.realpath(file).removeprefix("/usr"))):
        found = subprocess.run(["dpkg-query", "-S", path], capture_output=True, text=True, check=False).stdout
        owners = [line.partition(": ")[0] for line in found.splitlines() if not line.startswith("diversion by ")]
        if owners:
            show = ["dpkg-query", "-W", "-f", "${Package} ${Version}", owners[0].partition(",")[0]]
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


def run(command: str, way: Sequence[str], inputs_folder: Path, limit_s: float) -> Run:
    """Run a command in a copy of the inputs: started directly, by sh(1) only if it needs a shell."""
    with scratch() as folder:
        place = laid_out(inputs_folder, folder, command)
        words = ["sh", "-c", command]
        if not _NEEDS_SHELL.search(command.replace("$MADE", "")):
            words = [word.replace("$MADE", str(inputs_folder / "made")) for word in command.split()]
        return _run(["env", "-C", str(place), *way, *words], folder, inputs_folder, limit_s)


def _run(words: list[str], folder: Path, inputs_folder: Path, limit_s: float) -> Run:
    with open(folder / "out", "wb") as out, open(folder / "errors", "wb") as errors:
        try:
            env = _environment(folder, inputs_folder)
            status = run_limited(words, limit_s, env=env, stdout=out, stderr=errors).returncode
        except CheckFailed:
            status = None
    return _told(status, folder, inputs_folder)


def run_all(commands: Sequence[str], way: Sequence[str], inputs_folder: Path, limit_s: float) -> list[Run]:
    """Run commands of sh(1) one after the other, by one start of the way; each in a copy of the inputs of its own.

    Where the way itself fails, each command is started by itself, and that failure is the last one's.
    """
    with scratch() as folder:
        lines = []
        for number, command in enumerate(commands):
            place = laid_out(inputs_folder, folder / str(number), command)
            lines.append(
                f"cd {shlex.quote(str(place))} && HOME=$PWD/.. TMPDIR=$PWD/.. timeout -s KILL {limit_s} "
                f"sh -c {shlex.quote(command)} < /dev/null > ../out 2> ../errors; echo $? > ../status"
            )
        write_text(folder / "script", "\n".join([*lines, "exit 0\n"]))
        all_of_them = ["env", "-C", str(folder), *way, "sh", str(folder / "script")]
        whole = _run(all_of_them, folder, inputs_folder, limit_s * len(commands) + START_S)
        if whole.status != 0 and len(commands) > 1:
            return [run_all([command], way, inputs_folder, limit_s)[0] for command in commands]
        if whole.status != 0:
            return [whole]
        return [_ended(folder / str(number), inputs_folder) for number in range(len(commands))]


def _ended(own: Path, inputs_folder: Path) -> Run:
    """How a command of a script ended."""
    status = int((own / "status").read_text())
    return _told(None if status == KILLED else status, own, inputs_folder)


def laid_out(inputs_folder: Path, folder: Path, command: str) -> Path:
    """A copy of the inputs below a folder."""
    place = folder / "job"
    unused = ["made", *(name for name in ("repository", "tree") if name not in command)]
    shutil.copytree(inputs_folder, place, symlinks=True, ignore=shutil.ignore_patterns(*unused))
    for path in (folder.parent, folder, place):
        path.chmod(0o755 | path.stat().st_mode)  # some jobs run as another user
    return place


def _environment(folder: Path, inputs_folder: Path) -> dict[str, str]:
    """What the programs start with. $MADE is the folder of made programs."""
    found = {key: value for key, value in os.environ.items() if key not in ("LD_PRELOAD", "DISPLAY")}
    found |= {
        "HOME": str(folder),
        "TMPDIR": str(folder),
        "MADE": str(inputs_folder / "made"),
        "XDG_CACHE_HOME": str(cache_dir().parent),
        "TERM": "dumb",
        "PATH": f"{found.get('PATH', '')}:/usr/sbin:/sbin",
    }
    found.setdefault("RUSTUP_HOME", str(Path.home() / ".rustup"))  # rustc may be a link to rustup
    return found


def _told(status: int | None, folder: Path, inputs_folder: Path) -> Run:
    """What a run wrote, without names that differ from run to run, or from one machine to another."""
    texts = []
    for name in ("out", "errors"):
        text = (folder / name).read_text(errors="replace")
        for path, word in ((folder, "FOLDER"), (inputs_folder / "made", "MADE"), (cache_dir(), "CACHE")):
            text = text.replace(str(path), word)
        texts.append(text)
    return Run(status, *texts)
