"""Arguments and options that several commands share, and checks of the values that a user gives."""

import math
import re
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer
from typer.core import TyperCommand
from typer.models import CommandFunctionType

from heapsmith.commands import standard
from heapsmith.model.errors import BadInput
from heapsmith.model.files import writable_file as writable_file
from heapsmith.model.files import writable_folder as writable_folder

if TYPE_CHECKING:  # needs numpy, which a command imports only when it runs
    from heapsmith.bench.common.rounds import Stop
    from heapsmith.model.memory.application import Application

Part = Literal["none", "ends", "pages", "all"]
"""As in model/memory/application.py."""
PARTS = "none|ends|pages|all"


def parameter_records(command: Any, ctx: Any) -> Iterator[tuple[str, list[tuple[str, str]]]]:
    """Yield the title of the arguments, then of the options of a command, if it has any, with their names and help."""
    for title, kind in (("Arguments", "argument"), ("Options", "option")):
        parameters = [parameter for parameter in command.get_params(ctx) if parameter.param_type_name == kind]
        records = [record for parameter in parameters if (record := parameter.get_help_record(ctx))]
        if records:
            yield title, [(name.partition(" <")[0], said) for name, said in records]


class _Command(TyperCommand):
    """A command whose help names arguments by their metavar alone; typer adds the name of the type in Python."""

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """Write the arguments, then the options."""
        for title, records in parameter_records(self, ctx):
            with formatter.section(title):
                formatter.write_dl(records)


class WithProgram(_Command):
    """A command whose words behind -- are a program, apart from its arguments; `program` has them."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Keep the words behind the first --, and parse those before it."""
        at = args.index("--") if "--" in args else len(args)
        ctx.meta[WithProgram.__name__] = args[at + 1 :]
        return super().parse_args(ctx, args[:at])


def program(ctx: typer.Context) -> list[str]:
    """The words behind the -- of a WithProgram; none without it."""
    found: list[str] = ctx.meta[WithProgram.__name__]
    return found


class Commands(typer.Typer):
    """A group of commands, each a _Command unless it names another class."""

    def command(self, name: str | None = None, **settings: Any) -> Callable[[CommandFunctionType], CommandFunctionType]:
        """Register a command, as typer.Typer does."""
        return super().command(name, **{"cls": _Command} | settings)


def designs(incomplete: str) -> list[str]:
    """The built-in designs whose names begin with `incomplete`, for shell completion."""
    from heapsmith.model.design.design import builtin_names

    return [name for name in builtin_names() if name.startswith(incomplete)]


def example(*lines: str) -> str:
    """The epilog of a command's help."""
    return "\b\nExamples:\n" + "\n".join(f"  heapsmith {line}" for line in lines)


COMMAND_LINE = {"allow_interspersed_args": False}
"""Settings of commands that take CMD: all words after CMD belong to it."""

Json = Annotated[bool, typer.Option("--json", help="Print the result as JSON.")]
Cmd = Annotated[
    list[str], typer.Argument(metavar="CMD", help="The program and its arguments, after --.", show_default=False)
]
Trace = Annotated[
    Path, typer.Argument(metavar="TRACE", help=standard.TRACE, show_default=False, callback=standard.of_input)
]
WeightedTraces = Annotated[
    list[str],
    typer.Argument(
        metavar="TRACE[:WEIGHT]...", help="Traces (.hst). A trace of weight 3 counts as three.", show_default=False
    ),
]
Favour = Annotated[
    Literal["balanced", "time", "memory"],
    typer.Option(metavar="balanced|time|memory", help="What counts most among designs that none beats in all."),
]
MaxTime = Annotated[
    str | None,
    typer.Option(metavar="FACTOR", help="The allocator's most time, of the base's.", show_default="1.01x to 1.05x"),
]
MaxRss = Annotated[
    str | None,
    typer.Option(
        "--max-rss",
        metavar="BYTES|FACTOR",
        help="The most bytes of the heap resident at the peak (200M), or a factor of the base's (0.9x; above 1x it "
        "is the average's too).",
        show_default="1.01x",
    ),
]
DesignName = Annotated[
    str | None, typer.Option("--name", metavar="NAME", help="The design's name. Default: that of the file.")
]
MaxP999 = Annotated[
    str | None,
    typer.Option(
        "--max-p999", metavar="TIME", help="The most time that one operation in a thousand may exceed: 2us. Slower."
    ),
]
HoldOut = Annotated[
    list[Path] | None,
    typer.Option("--hold-out", metavar="TRACE", help="A trace to print the design's figures for; repeat it."),
]
Budget = Annotated[
    str | None,
    typer.Option(
        metavar="TIME",
        help="Time to search: 90s or 2m.",
        show_default="20s for a million events, a minute for ten million",
    ),
]
Simulations = Annotated[
    int | None,
    typer.Option(metavar="N", min=2, help="Designs to simulate with caches, in place of a time: repeats exactly."),
]
Scheduler = Annotated[
    str | None, typer.Option(metavar="ADDRESS", help="Work on the dask cluster of this scheduler: tcp://HOST:PORT.")
]
Resume = Annotated[bool, typer.Option("--resume", help="Take up the simulations of earlier searches on these traces.")]
Name = Annotated[
    str, typer.Argument(metavar="DESIGN", help="A built-in design or a design file.", autocompletion=designs)
]
LibraryOrDesign = Annotated[
    str,
    typer.Argument(metavar="LIB|DESIGN", help="A library (.so), or a design to build.", autocompletion=designs),
]
Base = Annotated[
    str, typer.Option("--base", metavar="DESIGN", help="The design to start from.", autocompletion=designs)
]
HugePages = Annotated[
    bool,
    typer.Option(
        "--huge-pages",
        help="The program touches all bytes that it requests: consider huge pages without samples in the trace.",
    ),
]
Overhead = Annotated[
    float,
    typer.Option(metavar="FRACTION", help="The most bytes idle in fronts, as a fraction of the peak live bytes."),
]
Rounds = Annotated[int, typer.Option(metavar="N", min=1, help="Counted rounds; each runs every library once.")]
CountedRounds = Annotated[
    int | None, typer.Option("--rounds", metavar="N", min=1, help="Exactly N counted rounds instead of --time.")
]
Time = Annotated[
    str | None,
    typer.Option("--time", metavar="TIME", help="Rounds until the intervals are under 2 %, for 60s, 5m or 1h at most."),
]
Libraries = Annotated[
    list[str],
    typer.Option(
        "--lib",
        metavar="LIB|DESIGN",
        help="glibc, a peer (docs/peers.md), a .so or a design; repeat it to compare.",
        autocompletion=designs,
    ),
]
Suites = Annotated[
    list[str] | None,
    typer.Option("--suite", metavar="SUITE", help="micro, threads, servers, programs or replay; repeat it."),
]
Rows = Annotated[
    list[str] | None, typer.Option("--only", metavar="ROW", help="Only rows of this name or pattern (*); repeat it.")
]
Beside = Annotated[
    list[str] | None,
    typer.Option(
        "--lib",
        metavar="LIB|DESIGN",
        help="A peer (docs/peers.md), `peers`, a .so or a design beside glibc; repeat it. Default: peers, default.",
        autocompletion=designs,
    ),
]
Tuned = Annotated[
    list[str] | None,
    typer.Option(metavar="LIB|DESIGN[=TUNED_ON]", help="A tuned library and the input it was tuned on; repeat it."),
]
Tune = Annotated[
    bool, typer.Option("--tune", help="Add a column `tuned`: a design tuned on another input of each row.")
]
BenchRounds = Annotated[
    int | None,
    typer.Option(metavar="N", min=1, help="Counted rounds; each runs every library once. Default: 7, with --quick 3."),
]
RowTime = Annotated[
    str | None,
    typer.Option("--time", metavar="TIME", help="Rounds until CPU time's intervals are under 2 %, a row TIME at most."),
]
Designs = Annotated[
    list[str] | None,
    typer.Option(
        "--design",
        metavar="DESIGN",
        help="A design; repeat it to compare designs. Default: all built-in designs.",
        autocompletion=designs,
    ),
]
MeshDesigns = Annotated[
    list[str],
    typer.Option("--design", metavar="DESIGN", help="A design; repeat it to compare.", autocompletion=designs),
]
Machine = Annotated[
    str,
    typer.Option("--machine", metavar="MACHINE", help="A built-in machine, a file that calibrate wrote, or `here`."),
]
Simulated = Annotated[
    str | None,
    typer.Option(
        "--machine",
        metavar="MACHINE",
        help="Also simulate caches, TLBs and pages: a built-in machine, a file that calibrate wrote, or `here`.",
    ),
]
Latency = Annotated[
    bool, typer.Option("--latency", help="Also the time of single operations: p50, p99, p99.9 and the worst.")
]
Cores = Annotated[
    str | None,
    typer.Option(
        "--cores", metavar="N[,N]...", help="Also the threads on these numbers of cores, with their waits for locks."
    ),
]
RecordedTimes = Annotated[
    bool,
    typer.Option(
        "--recorded-times", help="Between its events a thread spends the time that the trace tells, not none."
    ),
]
Bytes = Annotated[
    bool, typer.Option("--bytes", help="Print instead what the bytes are for: at the peak, on average, at the end.")
]
At = Annotated[
    list[int] | None,
    typer.Option("--at", metavar="EVENT", min=0, help="Also after this event, from 0 (with --bytes; repeatable)."),
]
WRITTEN = "What the program writes of a new block: nothing, its ends, or all."
Births = Annotated[Part | None, typer.Option(metavar=PARTS, help=WRITTEN, show_default="all")]
READ = "What the program reads of a block before it frees it."
Deaths = Annotated[Part | None, typer.Option(metavar=PARTS, help=READ, show_default="ends")]
Traces = Annotated[
    list[Path] | None, typer.Option("--traces", metavar="DIR|FILE", help="Traces, or a folder of them; repeat it.")
]
Header = Annotated[
    Path | None,
    typer.Option(metavar="FILE", help="Also write heapsmith.h to FILE: inlined malloc and free for programs."),
]
Sources = Annotated[
    list[Path],
    typer.Argument(metavar="TRACE|DIR...", help="Traces (.hst), or the folder that a forge wrote.", show_default=False),
]
ReportDesigns = Annotated[
    list[str] | None,
    typer.Option(
        "--design",
        metavar="DESIGN",
        help="A design to show; repeat it. Default: `default` and `lean`; of a forge: its base and its design.",
        autocompletion=designs,
    ),
]
OutFile = Annotated[Path, typer.Option("-o", "--out", metavar="FILE", help="The file to write.", show_default=False)]
OutFolder = Annotated[
    Path,
    typer.Option("-o", "--out", metavar="DIR", help="The folder to fill; it is made if absent.", show_default=False),
]


def application(trace: Path, births: Part | None, deaths: Part | None) -> "Application":
    """What the program of the trace touches; None: the assumption for a program of which nothing is known."""
    from heapsmith.model.memory.application import PROGRAM, program_of

    return program_of(trace, births or PROGRAM.births, deaths or PROGRAM.deaths)


def core_counts(cores: str | None) -> list[int]:
    """The numbers of --cores; BadInput for anything else than whole numbers from 1 on."""
    words = cores.split(",") if cores is not None else []
    if not all(word.isdecimal() and int(word) > 0 for word in words):
        raise BadInput(f"--cores {cores}: expected numbers of cores from 1 on, such as 2,8,64")
    return [int(word) for word in words]


def weighted(text: str) -> tuple[Path, float]:
    """The trace and the weight of TRACE[:WEIGHT]; BadInput for a weight that is no number."""
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


def budget(text: str | None) -> float | None:
    """The seconds of --budget, None without it."""
    return None if text is None else seconds("--budget", text)


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


def command_words(words: list[str]) -> list[str]:
    """CMD without the `--` before it; BadInput if CMD is empty, or if there is no such program."""
    command = words[1:] if words[:1] == ["--"] else words
    if not command:
        raise BadInput("no command: expected -- CMD [ARG]...")
    if shutil.which(command[0]) is None:
        raise BadInput(f"{command[0]}: no such command, or it is not executable")
    return command


UNITS = {"": 1.0, "s": 1.0, "m": 60.0, "h": 3600.0}


def round_seconds(rounds: int | None, time: str | None) -> float | None:
    """The seconds of --time, None without it; BadInput for --rounds too, or for no time."""
    if rounds is not None and time is not None:
        raise BadInput("--rounds and --time: expected one of them, not both")
    return None if time is None else seconds("--time", time)


def stop(rounds: int | None, time: str | None, default_s: float) -> "Stop":
    """When rounds end, from --rounds and --time; BadInput as round_seconds."""
    from heapsmith.bench.common.rounds import Stop

    limit_s = round_seconds(rounds, time)
    return Stop(rounds) if rounds is not None else Stop(limit_s=default_s if limit_s is None else limit_s)


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
    if "," in file:
        raise BadInput(f"{file}: HEAPSMITH takes no file with a comma in its name")
    path = writable_file(Path(file).absolute())
    return ",".join([*filter(None, [options]), f"stats={path}"])
