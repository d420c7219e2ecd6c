"""The wheel on a Debian without a compiler: installed in a minimal chroot, where each command runs; figures as JSON.

python -m heapsmith.bench.gates.chroot [WHEEL] [--root DIR] [--keep], or make chroot

It needs root, debootstrap and a gigabyte. The mirror and the release are those of this machine's
apt. Packages of Python are downloaded outside, so that the chroot needs no network.
docs/lab/platforms.md has the figures that are kept.
"""

import re
import shutil
import subprocess
import sys
import time
from collections.abc import Sequence
from importlib.metadata import Distribution, distributions
from pathlib import Path
from textwrap import fill
from typing import Annotated

import msgspec
import typer

from heapsmith.bench.common.command import exit_with
from heapsmith.bench.common.commit import commit, today
from heapsmith.codegen.toolchain import find_tool, run_tool
from heapsmith.model.errors import CheckFailed, Missing
from heapsmith.model.files import scratch, write_json, write_text
from heapsmith.tools.common.tables import Words, section

FIGURES = Path(__file__).with_name("chroot.json")
PAGE = Path(__file__).resolve().parents[2] / "docs/lab/platforms.md"
BEGIN, END = "<!-- of chroot.json -->\n", "<!-- end -->\n"
LARGEST = 6
"""Packages with a row of their own."""
PACKAGES = "python3,python3-venv,python3-pip"
COMPILERS = ("cc", "gcc", "clang", "c89", "c99", "tcc", "as", "ld")
_ENTER = (
    'mount -t proc proc "$0/proc" && exec chroot "$0" env -i -C /root PATH=/usr/bin:/bin:/usr/sbin:/sbin HOME=/root '
    'LC_ALL=C.UTF-8 "$@"'
)
JOB = ("--", "perl", "-e", "$h{$_} = 'x' x ($_ % 300) for 1 .. 20000; print scalar(keys %h)")
STEPS: tuple[tuple[int, tuple[str, ...]], ...] = (
    (0, ("--version",)),
    (0, ("doctor",)),
    (0, ("record", "-o", "t.hst", *JOB)),
    (0, ("record", "--stacks", "-o", "s.hst", *JOB)),
    (0, ("trace", "info", "t.hst")),
    (0, ("simulate", "t.hst", "--design", "default", "--design", "steady")),
    (0, ("run", "default", *JOB)),
    (0, ("run", "hardened", *JOB)),
    (0, ("replay", "t.hst", "--lib", "glibc", "--lib", "default", "--rounds", "1")),
    (0, ("compare", "--rounds", "1", "--lib", "glibc", "--lib", "default", *JOB)),
    (3, ("run", "steady", *JOB)),
    (3, ("build", "default", "-o", "libdefault.so")),
    (3, ("verify", "default", "t.hst")),
)
"""The status that each must end with. A design that is not in the wheel, and all that builds, needs a compiler."""


class Step(msgspec.Struct, frozen=True):
    """A command in the chroot. said: the last line on standard error, or on output where there is none."""

    words: str
    status: int
    seconds: float
    said: str


class Figures(msgspec.Struct, frozen=True):
    """What was measured. Bytes are those on the disk."""

    date: str
    commit: str
    release: str
    python: str
    wheel: str
    wheel_bytes: int
    download_bytes: int
    installed_bytes: int
    install_seconds: float
    parts: dict[str, int]
    steps: list[Step]


def mirror() -> tuple[str, str]:
    """The address of Debian's archive and the name of its release, as apt on this machine has them."""
    form = ["--format", "$(ORIGIN)|$(COMPONENT)|$(REPO_URI)|$(CODENAME)", "Created-By: Packages"]
    for line in run_tool([find_tool("apt-get", "apt", "apt"), "indextargets", *form], "the sources").splitlines():
        origin, component, address, codename = line.split("|")
        if origin == "Debian" and component == "main" and re.fullmatch(r"\w+", codename):
            return address, codename
    raise Missing("apt-get indextargets: no release of Debian with its component main: expected one in sources.list")


def inside(root: Path, words: Sequence[str]) -> subprocess.CompletedProcess[str]:
    """Run a command in the chroot, where /proc is mounted for it alone."""
    enter = ["unshare", "--mount", "--propagation", "private", "sh", "-c", _ENTER, str(root)]
    return subprocess.run([*enter, *words], capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL)


def _must(root: Path, *words: str) -> str:
    done = inside(root, words)
    if done.returncode != 0:
        raise CheckFailed(f"{' '.join(words)}: status {done.returncode}: {_last(done)}")
    return done.stdout.strip()


def _last(done: subprocess.CompletedProcess[str]) -> str:
    return ((done.stderr.strip() or done.stdout.strip()).splitlines() or [""])[-1].strip()


def debian(root: Path, packages: str = PACKAGES) -> None:
    """Make the chroot, with packages. Raises Missing without debootstrap, CheckFailed with its last words."""
    address, codename = mirror()
    tool, form = find_tool("debootstrap", "it", "debootstrap"), ("--variant=minbase", f"--include={packages}")
    done = subprocess.run([tool, *form, codename, str(root), address], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise CheckFailed(f"debootstrap: status {done.returncode}: {_last(done)}")


def release_of(root: Path) -> str:
    """The release of a chroot. Raises CheckFailed for one that has a compiler."""
    if found := [name for name in COMPILERS if inside(root, ["sh", "-c", f"command -v {name}"]).returncode == 0]:
        raise CheckFailed(f"the chroot has {', '.join(found)}: expected no compiler")
    return _must(root, "cat", "/etc/debian_version")


def disk_bytes(folder: Path) -> int:
    """What the files below a folder take, each file once."""
    found = {(about.st_dev, about.st_ino): about.st_blocks for about in (p.lstat() for p in folder.rglob("*"))}
    return 512 * sum(found.values())


def install(root: Path, wheel: Path) -> tuple[int, float]:
    """Install the wheel and all it needs in a virtual environment of the chroot: bytes to download, seconds."""
    for old in ("v", "wheels", "root"):  # of an earlier run in this chroot
        shutil.rmtree(root / old, ignore_errors=True)
    (root / "root").mkdir()
    wheels, version = root / "wheels", _must(root, "python3", "-c", "import sys; print('%d.%d' % sys.version_info[:2])")
    how = ["--quiet", "--only-binary=:all:", "--python-version", version, "--dest", str(wheels), str(wheel)]
    run_tool([sys.executable, "-m", "pip", "download", *how], wheel.name)
    _must(root, "python3", "-m", "venv", "/v")
    began = time.monotonic()
    _must(root, "/v/bin/pip", "install", "--quiet", "--no-index", "--find-links", "/wheels", "heapsmith")
    return sum(file.stat().st_size for file in wheels.iterdir()), time.monotonic() - began


def parts(root: Path) -> dict[str, int]:
    """What each package of the virtual environment takes on the disk, the largest first."""
    (site,) = (root / "v/lib").glob("python3*/site-packages")
    found = {one.metadata["Name"]: _bytes_of(one) for one in distributions(path=[str(site)])}
    return dict(sorted(found.items(), key=lambda item: -item[1]))


def _bytes_of(one: Distribution) -> int:
    files = {Path(str(file.locate())) for file in one.files or []}
    return 512 * sum(file.stat().st_blocks for file in files if file.is_file())


def step(root: Path, words: Sequence[str]) -> Step:
    """Run heapsmith once."""
    began = time.monotonic()
    done = inside(root, ["/v/bin/heapsmith", *words])
    return Step(shown(words), done.returncode, round(time.monotonic() - began, 1), _last(done))


def shown(words: Sequence[str]) -> str:
    """The words of a step, without those of the job."""
    return " ".join([*words[: words.index("--")], "-- JOB"] if "--" in words else words)


def measured(wheel: Path, there: Path | None) -> Figures:
    """Install the wheel in a new chroot, or in one that is there, and run all steps."""
    with scratch() as folder:
        root = there or folder / "root"
        if there is None:
            debian(root)
        release = release_of(root)
        download, seconds = install(root, wheel)
        shutil.rmtree(root / "wheels")
        installed = disk_bytes(root / "v")
        python = _must(root, "python3", "-c", "import platform; print(platform.python_version())")
        steps = [step(root, words) for _, words in STEPS]
        about = (today(), commit(), release, python, wheel.name)
        return Figures(*about, wheel.stat().st_size, download, installed, round(seconds, 1), parts(root), steps)


def faults(figures: Figures) -> list[str]:
    """A line for each step that did not end as STEPS says."""
    expected = {shown(words): status for status, words in STEPS}
    return [
        f"{one.words}: status {one.status}, expected {expected.get(one.words)}: {one.said}"
        for one in figures.steps
        if one.status != expected.get(one.words)
    ]


def text(figures: Figures) -> str:
    """The figures as docs/lab/platforms.md has them."""
    shares = list(figures.parts.items())
    rest = sum(size for _, size in shares[LARGEST:])
    rows = [[name, f"{size / 1e6:,.0f}"] for name, size in shares[:LARGEST]]
    rows += [
        [f"{len(shares) - LARGEST} others", f"{rest / 1e6:,.0f}"],
        ["all packages", f"{sum(figures.parts.values()) / 1e6:,.0f}"],
    ]
    steps = [[f"`{one.words}`", str(one.status), f"{one.seconds:.0f}"] for one in figures.steps]
    about = (
        f"`make chroot` on {figures.date}, Debian {figures.release}, Python {figures.python}: "
        f"{figures.download_bytes / 1e6:.0f} MB to download, of which the wheel is {figures.wheel_bytes / 1e6:.1f}; "
        f"`pip install` took {figures.install_seconds:.0f} s. The machine did much other work meanwhile."
    )
    tables = (Words("", ["<package", "MB on disk"], rows), Words("", ["<command", "status", "seconds"], steps))
    return "\n\n".join([fill(about, 100), *("\n".join([*section(table)][3:]) for table in tables)]) + "\n"


def paged(page: str, figures: Figures) -> str:
    """The page with these figures."""
    head, _, rest = page.partition(BEGIN)
    return f"{head}{BEGIN}\n{text(figures)}\n{END}{rest.partition(END)[2]}"


def kept() -> Figures:
    """The figures of the page."""
    return msgspec.json.decode(FIGURES.read_bytes(), type=Figures)


def main(
    wheel: Annotated[Path | None, typer.Argument(help="Default: that of this processor in dist/.")] = None,
    root: Annotated[Path | None, typer.Option(metavar="DIR", help="A chroot of debootstrap that is there.")] = None,
    keep: Annotated[
        bool, typer.Option("--keep", help="Keep the figures, and write them to docs/lab/platforms.md.")
    ] = False,
) -> int:
    """Print the figures as JSON, and a line for each step that ended otherwise; 1 if there is one."""
    found = [wheel] if wheel else sorted(Path("dist").glob("*manylinux*_x86_64.whl"))
    if not found:
        raise Missing("dist: no wheel of this platform: make wheels")
    figures = measured(found[-1].absolute(), root)
    if keep:
        write_json(FIGURES, figures)
        write_text(PAGE, paged(PAGE.read_text(), figures))
    print(msgspec.json.format(msgspec.json.encode(figures)).decode())
    wrong = faults(figures)
    print(*wrong, sep="\n", file=sys.stderr)
    return int(bool(wrong))


if __name__ == "__main__":
    exit_with(main)
