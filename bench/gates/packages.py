"""Builds the sdist and the wheel, and tries both as a user gets them: in new environments, outside of the checkout.

python -m heapsmith.bench.gates.packages [--out DIR] [--json] [PYTHON]..., or make dist
"""

import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated

import msgspec
import typer

from heapsmith.bench.common.command import exit_with
from heapsmith.codegen.toolchain import run_tool
from heapsmith.model.errors import BadInput, Missing
from heapsmith.model.files import scratch
from heapsmith.tools.common.tables import Words, draw

PYTHONS = ("python3.11", "python3.12", "python3.13", "python3.14", "python3.15")
REP = "4096\n2\n4\n1\na 0 24\na 1 4000\nf 0\nf 1\n"
"""A trace of the malloc lab (docs/other-tools.md, 'malloc-lab text')."""
STEPS = (
    ("--version",),
    ("doctor",),
    ("trace", "import", "--from", "rep", "small.rep", "-o", "small.hst"),
    ("simulate", "small.hst", "--design", "default"),
    ("generate", "default", "-o", "emitted"),
    ("build", "default", "-o", "libdefault.so"),
    ("verify", "default", "small.hst"),
    ("run", "./libdefault.so", "--", "/bin/true"),
)
"""What a new user does; each step must end with 0 and may use the files of those before it."""


class Trial(msgspec.Struct, frozen=True):
    """One package under one interpreter; `failed`: the first step that failed and its last words, or None."""

    package: str
    python: str
    failed: str | None


def build(out: Path) -> list[Path]:
    """Build an sdist, and the wheel from it, into `out`, and check the metadata of both; wheel first.

    Raises BadInput outside of a checkout, Missing without build and twine, CheckFailed with the first complaint.
    """
    if not Path("pyproject.toml").exists():
        raise BadInput("packages: no pyproject.toml here; expected the root of a checkout")
    if lacking := [module for module in ("build", "twine") if find_spec(module) is None]:
        raise Missing(f"packages: {' and '.join(lacking)} not installed: pip install 'heapsmith[dist]'")
    shutil.rmtree(out, ignore_errors=True)
    run_tool([sys.executable, "-m", "build", "--outdir", str(out), "."], "pyproject.toml")
    packages = [*sorted(out.glob("*.whl")), *sorted(out.glob("*.tar.gz"))]
    run_tool([sys.executable, "-m", "twine", "check", "--strict", *map(str, packages)], "the packages")
    return packages


def version_of(python: str) -> str | None:
    """Return the version of an interpreter; None if it does not run."""
    try:
        shown = [python, "-c", "import platform; print(platform.python_version())"]
        return subprocess.run(shown, check=True, capture_output=True, text=True).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        return None


def attempt(package: Path, python: str, version: str) -> Trial:
    """Install a package and take the steps of a new user, with a home and a cache of their own."""
    with scratch() as home:
        (home / "small.rep").write_text(REP)
        kept = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "VIRTUAL_ENV"))}
        environment = kept | {"HOME": str(home), "XDG_CACHE_HOME": str(home / "cache")}
        installed = str(home / "venv" / "bin" / "python")
        commands: list[Sequence[str]] = [
            [python, "-m", "venv", str(home / "venv")],
            [installed, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", str(package.absolute())],
            *([str(home / "venv" / "bin" / "heapsmith"), *step] for step in STEPS),
        ]
        for command in commands:
            done = subprocess.run(command, cwd=home, env=environment, check=False, capture_output=True, text=True)
            if done.returncode != 0:
                said = (done.stderr.strip() or done.stdout.strip() or "no output").splitlines()[-1]
                words = " ".join([Path(command[0]).name, *command[1:]])
                return Trial(package.name, version, f"{words}: status {done.returncode}: {said}")
    return Trial(package.name, version, None)


def trials(packages: Sequence[Path], pythons: Sequence[str]) -> list[Trial]:
    """Try the wheel under every interpreter that runs, and the sdist under the first. Raises Missing if none runs."""
    found = {python: version for python in pythons if (version := version_of(python)) is not None}
    for python in pythons:
        if python not in found:
            print(f"{python}: left out, does not run", file=sys.stderr)
    if not found:
        raise Missing(f"packages: none of {', '.join(pythons)} runs: install one of them (Debian: apt install python3)")
    wheel, *others = packages
    pairs = [(wheel, python) for python in found] + [(other, next(iter(found))) for other in others]
    done: list[Trial] = []
    for package, python in pairs:
        done.append(attempt(package, python, found[python]))
        print(f"{package.name}, {found[python]}: {done[-1].failed or 'ok'}", file=sys.stderr)
    return done


def main(
    pythons: Annotated[list[str] | None, typer.Argument(help="Interpreters; default: 3.11 to 3.15 on PATH.")] = None,
    out: Annotated[Path, typer.Option(metavar="DIR", help="The folder of the packages.")] = Path("dist"),
    json: Annotated[bool, typer.Option("--json", help="Print the result as JSON.")] = False,
) -> int:
    """Build, check and try the packages; 1 if a step fails."""
    done = trials(build(out), pythons or PYTHONS)
    if json:
        print(msgspec.json.encode(done).decode())
    else:
        rows = [[trial.package, trial.python, trial.failed or "ok"] for trial in done]
        draw(Words("", ("package", "<python", "<outcome"), rows))
    return int(any(trial.failed for trial in done))


if __name__ == "__main__":
    exit_with(main)
