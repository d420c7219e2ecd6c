"""Real programs whose output never changes: the jobs that libraries must run unchanged and traces are recorded from."""

import shutil
import subprocess
from pathlib import Path
from typing import NamedTuple

from heapsmith.bench import program_inputs as inputs
from heapsmith.bench.record import record
from heapsmith.model.errors import CheckFailed

JOBS = Path(__file__).resolve().parent / "jobs"

PERL = r"""
my %count; while (<>) { for (split) { $count{$_}++; push @{$seen{length $_}}, $_ if length > 6; } }
print "$_ $count{$_}\n" for sort { $count{$b} <=> $count{$a} || $a cmp $b } keys %count;
print scalar(@{$seen{$_}}), "\n" for sort keys %seen;
"""
SEARCH = 'rg --no-config -j4 -n "(alpha|delta) n[0-9]+7" "$0" | LC_ALL=C sort'


class Program(NamedTuple):
    """A command with an output that depends on its inputs alone."""

    name: str
    image: str
    """Of the executables that the command runs, the one that the program is about."""
    command: list[str]
    needs: tuple[str, ...]
    """Executables that must be on PATH."""
    hands_over: bool = False
    """Every run frees blocks on another thread than the one that allocated them."""

    def lacks(self) -> list[str]:
        """The executables that are not on PATH."""
        return [tool for tool in self.needs if shutil.which(tool) is None]


def programs(folder: Path, *, scale: int = 1) -> list[Program]:
    """The programs over inputs written to `folder`; `scale` multiplies the size of the inputs."""
    folder.mkdir(parents=True, exist_ok=True)
    text = str(inputs.text(folder / "text.txt", 20_000 * scale))
    words = str(inputs.text(folder / "words.txt", 5000 * scale))
    sql = inputs.sql(folder / "script.sql", 20_000 * scale)
    repository = str(inputs.repository(folder / "repository", 30 * scale))
    history = str(inputs.repository(folder / "history", 400 * scale))
    c = str(inputs.c_source(folder / "source.c", 150 * scale))
    cxx = str(inputs.cxx_source(folder / "source.cc", scale))
    smt = str(inputs.smt(folder / "problem.smt2", 11, 15 + scale))
    xml = str(inputs.xml(folder / "document.xml", 8000 * scale))
    tree = str(inputs.tree(folder / "tree", 200 * scale))
    project = str(inputs.make_project(folder / "project", 8 * scale))
    python = ["env", "PYTHONMALLOC=malloc", "PYTHONHASHSEED=0", "python3"]
    php = ["env", "USE_ZEND_ALLOC=0", "php", "-n"]
    redis = ("redis-server", "redis-benchmark", "redis-cli")
    return [
        Program("python", "python3", [*python, *_job("python_job.py", 4000 * scale)], ("python3",), hands_over=True),
        Program("cc1", "cc1", ["gcc", "-O1", "-S", "-o", "-", c], ("gcc",)),
        Program("sqlite3", "sqlite3", ["sqlite3", ":memory:", f".read {sql}"], ("sqlite3",)),
        Program("perl", "perl", ["env", "PERL_HASH_SEED=0", "perl", "-e", PERL, text], ("perl",)),
        Program("git", "git", ["git", "-C", repository, "log", "--stat", "-p"], ("git",)),
        Program("zstd", "zstd", ["zstd", "-q", "-T2", "-9", "-c", text], ("zstd",), hands_over=True),
        Program("pbzip2", "pbzip2", ["pbzip2", "-p2", "-b1", "-c", text], ("pbzip2",), hands_over=True),
        Program("redis", "redis-server", ["sh", *_job("redis.sh", folder)], redis),
        Program(
            "redis-load", "redis-server", ["python3", *_job("redis_load.py", folder, 2, 300 * scale)], redis[:2], True
        ),
        Program("cc1plus", "cc1plus", ["g++", "-O1", "-S", "-o", "-", cxx], ("g++",)),
        Program("z3", "z3", ["z3", smt], ("z3",)),
        Program("node", "node", ["node", *_job("node_job.js", 40 * scale)], ("node",), hands_over=True),
        Program("ripgrep", "rg", ["sh", "-c", SEARCH, tree], ("rg",), hands_over=True),
        Program("repack", "git", ["sh", *_job("repack.sh", history, folder)], ("git",), hands_over=True),
        Program("xz", "xz", ["xz", "-T2", "-3", "--block-size=100000", "-c", text], ("xz",)),
        Program("ruby", "ruby", ["ruby", "--disable=gems", *_job("ruby_job.rb", 4000 * scale)], ("ruby",), True),
        Program("php", "php", [*php, *_job("php_job.php", 4000 * scale)], ("php",)),
        Program("lua", "lua5.4", ["lua5.4", *_job("lua_job.lua", 30_000 * scale)], ("lua5.4",)),
        Program("gawk", "gawk", ["gawk", "-f", *_job("gawk_job.awk", words)], ("gawk",)),
        Program("xmllint", "xmllint", ["xmllint", "--format", "--noent", xml], ("xmllint",)),
        Program("make", "make", ["make", "-B", "-s", "-j2", "-C", project], ("make", "gcc")),
    ]


def _job(name: str, *arguments: object) -> list[str]:
    return [str(JOBS / name), *map(str, arguments)]


def trace_of(program: Program, folder: Path) -> Path:
    """The trace of the program's image, recorded now to `folder`, which is made; others of the run lie beside it.

    Raises what `record` raises, and CheckFailed where the command failed or never ran the image.
    """
    folder.mkdir(parents=True)
    run = record(program.command, folder / f"{program.name}.hst", stdout=subprocess.DEVNULL)
    if run.exit_status != 0:
        raise CheckFailed(f"{program.name}: exit status {run.exit_status} under the recorder, 0 was expected")
    for trace in run.traces:
        if Path(trace.program[0]).name == program.image:
            return Path(trace.path)
    raise CheckFailed(f"{program.name}: no trace of {program.image} among {len(run.traces)}")
