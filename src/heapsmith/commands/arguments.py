"""Arguments and options that several commands share, and values of the words that a user gives."""

import math
import re
import shutil
from pathlib import Path
from typing import Annotated

from heapsmith.api.designs import DESIGN, FOLDER
from heapsmith.api.stated import Argument, Option
from heapsmith.api.traces import OUT, TRACE
from heapsmith.model.errors import BadInput, WrongKind
from heapsmith.model.files import writable_file as writable_file
from heapsmith.model.files import writable_folder as writable_folder

Json = Annotated[bool, Option("Print the result as JSON.")]
Wait = Annotated[bool, Option("Wait for all processes that CMD starts, daemons too; Ctrl-C ends the wait.")]
Trace = Annotated[Path, TRACE]
ManyTraces = Annotated[list[Path], Argument(TRACE.help, "TRACE...", piped=True)]
OutTrace = Annotated[Path, Option("The trace to write; - is standard output.", "OUT", "-o --out")]
OutFile = Annotated[Path, OUT]
OutFolder = Annotated[Path, FOLDER]
Design = Annotated[str, DESIGN]
Rounds = Annotated[int, Option("Counted rounds; each runs every library once.", least=1)]
Scheduler = Annotated[str | None, Option("Work on the dask cluster of this scheduler: tcp://HOST:PORT.", "ADDRESS")]


def core_counts(option: str, cores: str) -> list[int]:
    """The numbers of a list; BadInput for anything else than whole numbers from 1 on."""
    words = cores.split(",")
    if not all(word.isdecimal() and int(word) > 0 for word in words):
        raise BadInput(f"{option} {cores}: expected numbers of cores from 1 on, such as 2,8,64")
    return [int(word) for word in words]


def weighted(_: str, traces: list[str]) -> list[tuple[Path, float]]:
    """The traces and weights of TRACE[:WEIGHT]...; BadInput for a weight that is no number."""
    return [_weighted(text) for text in traces]


def _weighted(text: str) -> tuple[Path, float]:
    path, colon, weight = text.rpartition(":")
    if not colon or Path(text).exists():
        return Path(text), 1.0
    try:
        return Path(path), float(weight)
    except ValueError:
        raise BadInput(f"{text}: {weight!r} is no weight; expected a number") from None


def seconds(option: str, text: str) -> float:
    """The seconds of a time like 90s or 2m; BadInput for any other text, and for no time."""
    found = re.fullmatch(r"([0-9]+(?:\.[0-9]+)?)([smh]?)", text)
    if found is None or float(found[1]) == 0:
        raise BadInput(f"{option} {text}: expected a time such as 60s, 5m or 1h")
    return float(found[1]) * UNITS[found[2]]


def share(option: str, text: str) -> float:
    """The share that `5%` or `0.05` says; BadInput names the option."""
    number = text.removesuffix("%")
    try:
        value = float(number) / (100 if text.endswith("%") else 1)
    except ValueError:
        value = math.nan
    if not 0 <= value < math.inf:
        raise BadInput(f"{option}: {text}; expected a share such as 5% or 0.05")
    return value


def command_words(_: str, words: list[str]) -> list[str]:
    """CMD without the `--` before it; BadInput if CMD is empty, or if there is no such program."""
    command = words[1:] if words[:1] == ["--"] else words
    if not command:
        raise WrongKind("no command: expected -- CMD [ARG]...")
    if shutil.which(command[0]) is None:
        raise WrongKind(f"{command[0]}: no such command, or it is not executable")
    return command


def words_of_target(words: list[str], others: str) -> list[str]:
    """CMD where one of `others` may stand too; BadInput names them for one word that is none."""
    if len(words) == 1 and shutil.which(words[0]) is None:
        raise WrongKind(f"{words[0]}: expected {others} or a command that can be executed")
    return command_words("", words)


UNITS = {"": 1.0, "s": 1.0, "m": 60.0, "h": 3600.0}


def trace_files(paths: list[Path]) -> list[Path]:
    """The traces (.hst) of files and folders; BadInput for a folder without traces."""
    found: list[Path] = []
    for path in paths:
        inside = sorted(path.glob("*.hst")) if path.is_dir() else [path]
        if not inside:
            raise BadInput(f"{path}: no traces (*.hst) in this folder")
        found += inside
    return found


def library_file(library: str) -> Path | None:
    """The shared library that LIB|DESIGN names, or None for a design; BadInput for a file that is neither."""
    path = Path(library)
    if path.suffix == ".so" or ".so." in path.name:
        return path
    if path.is_file() and path.suffix != ".toml":
        raise BadInput(f"{library}: expected a library (.so), a design file (.toml) or a built-in design's name")
    return None


def with_stats(options: str, file: str) -> str:
    """The options of HEAPSMITH, and its counters to `file`; BadInput for a name that the variable cannot hold."""
    path = writable_file(Path(file).absolute())
    if "," in str(path):
        raise BadInput(f"{file}: HEAPSMITH takes no file with a comma in its name")
    return ",".join([*filter(None, [options]), f"stats={path}"])
