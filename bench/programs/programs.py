"""Real programs with constant output: libraries must run them unchanged; traces record them."""

import os
import shutil
import subprocess
from pathlib import Path
from typing import NamedTuple

from heapsmith.bench.programs import inputs
from heapsmith.codegen.toolchain import build_tool
from heapsmith.model.errors import CheckFailed
from heapsmith.tools.record.record import RecordResult, record

JOBS = Path(__file__).resolve().parent / "jobs"

PERL = r"""
my %count; while (<>) { for (split) { $count{$_}++; push @{$seen{length $_}}, $_ if length > 6; } }
print "$_ $count{$_}\n" for sort { $count{$b} <=> $count{$a} || $a cmp $b } keys %count;
print scalar(@{$seen{$_}}), "\n" for sort keys %seen;
"""
SEARCH = 'rg --no-config -j4 -n "(alpha|delta) n[0-9]+7" "$0" | LC_ALL=C sort'


GROUPS = """
(map({id, n: .name, t: (.tags | length), s: (.tags | map(tonumber) | add)}) | group_by(.n)
  | map({n: .[0].n, c: length})),
(reduce .[] as $one ({}; .[$one.name] += $one.tags) | map(length))
"""
SERVICE_FLAGS = ("-std=c++17", "-O2", "-g", "-Wall", "-Wextra", "-pthread", "-lstdc++")


class Program(NamedTuple):
    """A command whose output depends on its inputs alone."""

    name: str
    image: str
    """The main executable among those that the command runs."""
    command: list[str]
    needs: tuple[str, ...]
    """Executables that must be on PATH."""
    hands_over: bool = False
    """Every run frees blocks on another thread than the allocating thread."""
    threads: int = 1
    """Of a server, threads that work at once; then its wall time counts too."""
    reports: bool = False
    """The last line of its standard error is a report of its own (micro_programs.Took)."""

    def lacks(self) -> list[str]:
        """The executables that are not on PATH."""
        return [tool for tool in self.needs if shutil.which(tool) is None]


def programs(folder: Path, *, scale: float = 1, seed: int = 1) -> list[Program]:
    """The programs over inputs in `folder`; `scale` sets the inputs' size, `seed` varies them."""
    folder = folder.resolve()  # redis-server leaves the folder it was started in
    folder.mkdir(parents=True, exist_ok=True)

    def size(full: int) -> int:
        return max(1, round(full * scale))

    factor, first = inputs.factor(seed), 1000 * (seed - 1)
    text = str(inputs.text(folder / "text.txt", size(20_000), seed))
    words = str(inputs.text(folder / "words.txt", size(5000), seed))
    sql = inputs.sql(folder / "script.sql", size(20_000), seed)
    repository = str(inputs.repository(folder / "repository", size(30), seed))
    history = str(inputs.repository(folder / "history", size(400), seed))
    c = str(inputs.c_source(folder / "source.c", size(150), first))
    cxx = str(inputs.cxx_source(folder / "source.cc", size(1), first))
    smt = str(inputs.smt(folder / "problem.smt2", 11, 14 + size(2), seed))
    xml = str(inputs.xml(folder / "document.xml", size(8000), seed))
    tree = str(inputs.tree(folder / "tree", size(200), seed))
    project = str(inputs.make_project(folder / "project", size(8), first))
    python = ["env", "PYTHONMALLOC=malloc", "PYTHONHASHSEED=0", "python3", *job("python_job.py", size(4000), seed)]
    php = ["env", "USE_ZEND_ALLOC=0", "php", "-n", *job("php_job.php", size(4000), factor)]
    ruby = ["ruby", "--disable=gems", *job("ruby_job.rb", size(4000), factor)]
    redis_load = ["python3", *job("redis_load.py", folder, 2, size(300), factor)]
    redis = ("redis-server", "redis-benchmark", "redis-cli")
    documents = inputs.documents(folder / "documents.sql", size(20_000), seed)
    search = ["sqlite3", "-init", os.devnull, ":memory:", f".read {documents}"]
    style = str(inputs.style(folder / "style.xsl"))
    objects = str(inputs.objects(folder / "objects.json", size(10_000), seed))
    graph = str(inputs.graph(folder / "graph.dot", 20 + size(100), seed))
    return [
        Program("python", "python3", python, ("python3",), hands_over=True),
        Program("cc1", "cc1", ["gcc", "-O1", "-S", "-o", "-", c], ("gcc",)),
        Program("sqlite3", "sqlite3", ["sqlite3", ":memory:", f".read {sql}"], ("sqlite3",)),
        Program("perl", "perl", ["env", "PERL_HASH_SEED=0", "perl", "-e", PERL, text], ("perl",)),
        Program("git", "git", ["git", "-C", repository, "log", "--stat", "-p"], ("git",)),
        Program("zstd", "zstd", ["zstd", "-q", "-T2", "-9", "-c", text], ("zstd",), hands_over=True),
        Program("pbzip2", "pbzip2", ["pbzip2", "-p2", "-b1", "-c", text], ("pbzip2",), hands_over=True),
        Program("redis", "redis-server", ["sh", *job("redis.sh", folder, size(5000), factor)], redis),
        Program("redis-load", "redis-server", redis_load, redis[:2], True),
        Program("cc1plus", "cc1plus", ["g++", "-O1", "-S", "-o", "-", cxx], ("g++",)),
        Program("z3", "z3", ["z3", smt], ("z3",)),
        Program("node", "node", ["node", *job("node_job.js", size(40), seed)], ("node",), hands_over=True),
        Program("ripgrep", "rg", ["sh", "-c", SEARCH, tree], ("rg",), hands_over=True),
        Program("repack", "git", ["sh", *job("repack.sh", history, folder)], ("git",), hands_over=True),
        Program("xz", "xz", ["xz", "-T2", "-3", "--block-size=100000", "-c", text], ("xz",)),
        Program("ruby", "ruby", ruby, ("ruby",), True),
        Program("php", "php", php, ("php",)),
        Program("lua", "lua5.4", ["lua5.4", *job("lua_job.lua", size(30_000), factor)], ("lua5.4",)),
        Program("gawk", "gawk", ["gawk", "-f", *job("gawk_job.awk", words)], ("gawk",)),
        Program("xmllint", "xmllint", ["xmllint", "--format", "--noent", xml], ("xmllint",)),
        Program("make", "make", ["make", "-B", "-s", "-j2", "-C", project], ("make", "gcc")),
        Program("documents", "sqlite3", search, ("sqlite3",)),
        Program("jq", "jq", ["jq", "-c", GROUPS, objects], ("jq",)),
        Program("xsltproc", "xsltproc", ["xsltproc", style, xml], ("xsltproc",)),
        Program("dot", "dot", ["dot", "-Tsvg", graph], ("dot",)),
        Program("service", *_service(4, size(20_000), factor), ("g++",), hands_over=True),
    ]


def _service(*arguments: int) -> tuple[str, list[str]]:
    """The executable's name and the command of jobs/service.cc, compiled once into the cache."""
    if shutil.which("g++") is None:
        return "service", ["service"]
    built = build_tool("service", [JOBS / "service.cc"], SERVICE_FLAGS)
    return built.name, [str(built), *map(str, arguments)]


def job(name: str, *arguments: object) -> list[str]:
    """The words of a command that runs a file of jobs/."""
    return [str(JOBS / name), *map(str, arguments)]


def record_program(program: Program, folder: Path, stacks: int = 0) -> RecordResult:
    """Record all processes of the program into the new folder, with call stacks of at most `stacks` frames.

    Raises what `record` raises, and CheckFailed if the command failed.
    """
    folder.mkdir(parents=True)
    void = subprocess.DEVNULL
    out = folder / f"{program.name}.hst"
    run = record(program.command, out, stacks=stacks, stdin=void, stdout=void, stderr=void)
    if run.exit_status != 0:
        raise CheckFailed(f"{program.name}: exit status {run.exit_status} under the recorder, 0 was expected")
    return run


def trace_of(program: Program, folder: Path, stacks: int = 0) -> Path:
    """Record the trace of the program's image into the new folder; other traces lie beside it.

    Raises as `record_program` does, and CheckFailed if the command never ran the image.
    """
    run = record_program(program, folder, stacks)
    for trace in run.traces:
        if Path(trace.program[0]).name == program.image:
            return Path(trace.path)
    raise CheckFailed(f"{program.name}: no trace of {program.image} among {len(run.traces)}")
