"""Real programs whose output never changes: the jobs that libraries must run unchanged and traces are recorded from."""

import os
import random
import shutil
import subprocess
from pathlib import Path
from typing import NamedTuple

JOBS = Path(__file__).resolve().parent / "jobs"

SQL = """
create table t(a integer, b text);
with recursive c(x) as (select 1 union all select x + 1 from c where x < {rows})
  insert into t select x, hex(x * 7919) from c;
create index i on t(b);
select count(*), max(b), sum(length(b)) from t;
select a % 97, count(*), group_concat(a) from t where a % 13 = 0 group by 1 order by 2, 1 limit 20;
delete from t where a % 3 = 0;
select b from t order by b desc limit 10;
"""

PERL = r"""
my %count; while (<>) { for (split) { $count{$_}++; push @{$seen{length $_}}, $_ if length > 6; } }
print "$_ $count{$_}\n" for sort { $count{$b} <=> $count{$a} || $a cmp $b } keys %count;
print scalar(@{$seen{$_}}), "\n" for sort keys %seen;
"""


class Program(NamedTuple):
    """A command with an output that depends on its inputs alone, and the executables it needs."""

    name: str
    command: list[str]
    needs: tuple[str, ...]

    def lacks(self) -> list[str]:
        """The executables that are not on PATH."""
        return [tool for tool in self.needs if shutil.which(tool) is None]


def programs(folder: Path, *, scale: int = 1) -> list[Program]:
    """The programs over inputs written to `folder`; `scale` multiplies the size of the inputs."""
    folder.mkdir(parents=True, exist_ok=True)
    text = _text(folder / "text.txt", 20_000 * scale)
    source = _c_source(folder / "source.c", 300 * scale)
    script = folder / "script.sql"
    script.write_text(SQL.format(rows=20_000 * scale))
    repository = folder / "repository"
    if shutil.which("git"):
        _repository(repository, 30 * scale)
    python = ["env", "PYTHONMALLOC=malloc", "PYTHONHASHSEED=0", "python3", str(JOBS / "python_job.py")]
    return [
        Program("python", [*python, str(4000 * scale)], ("python3",)),
        Program("cc1", ["gcc", "-O1", "-S", "-o", "-", str(source)], ("gcc",)),
        Program("sqlite3", ["sqlite3", ":memory:", f".read {script}"], ("sqlite3",)),
        Program("perl", ["env", "PERL_HASH_SEED=0", "perl", "-e", PERL, str(text)], ("perl",)),
        Program("git", ["git", "-C", str(repository), "log", "--stat", "-p"], ("git",)),
        Program("zstd", ["zstd", "-q", "-T2", "-9", "-c", str(text)], ("zstd",)),
        Program("pbzip2", ["pbzip2", "-p2", "-b1", "-c", str(text)], ("pbzip2",)),
        Program("redis", ["sh", str(JOBS / "redis.sh"), str(folder)], ("redis-server", "redis-benchmark", "redis-cli")),
    ]


def _text(path: Path, lines: int) -> Path:
    words = random.Random(1)
    path.write_text(
        "".join(
            " ".join(words.choice(("alpha", "beta", "gamma", "delta", f"n{line}")) for _ in range(8)) + "\n"
            for line in range(lines)
        )
    )
    return path


def _c_source(path: Path, functions: int) -> Path:
    bodies = [
        f"int f{k}(int a, int b) {{ int s = 0; "
        f"for (int i = 0; i < a; i++) {{ s += i * b + {k}; if (s % 7 == {k % 7}) s ^= b; }} "
        f'return s + (b ? 0 : "{"x" * (k % 40)}"[0]); }}\n'
        for k in range(functions)
    ]
    path.write_text("".join(bodies))
    return path


def _repository(folder: Path, commits: int) -> None:
    """A repository whose hashes are always the same: fixed names and dates, no configuration of the user."""
    if folder.exists():
        return
    environment = {
        "PATH": os.environ["PATH"],
        "HOME": str(folder.parent),
        "GIT_CONFIG_NOSYSTEM": "1",
        **{f"GIT_{who}_{what}": "heapsmith" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")},
    }

    def git(*arguments: str, date: int = 0) -> None:
        dates = {f"GIT_{who}_DATE": f"{1_700_000_000 + date} +0000" for who in ("AUTHOR", "COMMITTER")}
        subprocess.run(["git", "-C", str(folder), *arguments], env=environment | dates, check=True, capture_output=True)

    folder.mkdir()
    git("init", "-q", "-b", "main")
    for commit in range(commits):
        (folder / f"file{commit % 11}.txt").write_text(
            "".join(f"{commit} {line * commit % 89}\n" for line in range(200))
        )
        git("add", "-A")
        git("commit", "-q", "-m", f"change {commit}", date=commit)
