"""Makes the wheels of platforms: the plain wheel, and what a system without a compiler needs, compiled by ziglang.

python -m heapsmith.bench.gates.wheels [--out DIR], or make wheels
"""

import shutil
import sys
from pathlib import Path
from typing import Annotated, NamedTuple

import typer

from heapsmith.bench.common.command import exit_with
from heapsmith.bench.gates import packages
from heapsmith.codegen.build import build
from heapsmith.codegen.built import library_file
from heapsmith.codegen.target import Toolchain, toolchain
from heapsmith.codegen.toolchain import PREBUILT, Tool, run_tool
from heapsmith.model.design.design import load
from heapsmith.model.files import scratch
from heapsmith.tools.compare.launched import launch_tool
from heapsmith.tools.compare.own_malloc import probe_tool
from heapsmith.tools.forge.share import sampler_tool
from heapsmith.tools.peers.peers import replay_tool
from heapsmith.tools.record.record import recorder_tool

DEPTH = 64  # of `heapsmith record --stacks`
DESIGNS = ("default", "lean", "hardened")


class Platform(NamedTuple):
    """A wheel: its tag (packaging.python.org, platform compatibility tags), and the target of its C."""

    tag: str
    target: str


PLATFORMS = (
    Platform("manylinux_2_28_x86_64", "x86_64-linux-gnu.2.28"),
    Platform("manylinux_2_28_aarch64", "aarch64-linux-gnu.2.28"),
)


def tools() -> list[Tool]:
    """What record, run, replay, compare and forge compile where there is a compiler."""
    return [recorder_tool(0), recorder_tool(DEPTH), replay_tool(), launch_tool(), probe_tool(), sampler_tool()]


def prebuild(folder: Path, compiler: Toolchain) -> None:
    """Compile the tools and the libraries of DESIGNS into a folder. Raises CheckFailed as `compile_c`."""
    for tool in tools():
        tool.compiled(folder / tool.file(), compiler.compiler)
    for name in DESIGNS:
        build(load(name), folder / library_file(load(name)), tools=compiler)


def wheel_of(platform: Platform, plain: Path, out: Path) -> Path:
    """Make the wheel of a platform from a plain wheel. Raises Missing without ziglang or wheel."""
    with scratch() as folder:
        _wheel("unpack", "--dest", folder, plain)
        (unpacked,) = folder.iterdir()
        prebuild(unpacked / "heapsmith" / PREBUILT.name, toolchain(target=platform.target))
        _wheel("pack", "--dest-dir", folder, unpacked)
        _wheel("tags", "--remove", "--platform-tag", platform.tag, *folder.glob("*.whl"))
        (made,) = folder.glob("*.whl")
        out.mkdir(parents=True, exist_ok=True)
        return Path(shutil.move(made, out / made.name))


def _wheel(*words: str | Path) -> None:
    run_tool([sys.executable, "-m", "wheel", *map(str, words)], str(words[-1]))


def main(
    out: Annotated[Path, typer.Option(metavar="DIR", help="The folder of the wheels.")] = Path("dist"),
) -> int:
    """Make the wheel of each platform, and print their names and sizes."""
    with scratch() as folder:
        plain, *_ = packages.build(folder / "plain")
        for platform in PLATFORMS:
            made = wheel_of(platform, plain, out)
            print(f"{made}: {made.stat().st_size:,} bytes")
    return 0


if __name__ == "__main__":
    exit_with(main)
