"""Single checks in the emitted C: each finds its place, and the library made of it ends misuse."""

import signal
import subprocess
from pathlib import Path

import pytest

from heapsmith.bench.studies.single_checks import CHECKS, write_checks
from heapsmith.codegen.build import build_emitted
from heapsmith.codegen.built import library_of
from heapsmith.codegen.ship import ship
from heapsmith.codegen.toolchain import build_tool
from heapsmith.model.design.design import load
from heapsmith.model.errors import CheckFailed
from heapsmith.tools.common.preload import preloadable

MISUSE = Path(__file__).parent.parent / "misuse"


def ends(name: str, library: Path) -> int:
    """The exit status of a program of misuse under a library."""
    tool = build_tool(name, [MISUSE / f"{name}.c"], ["-O1", "-fno-builtin", "-w", f"-I{MISUSE}"])
    environment = {"LD_PRELOAD": preloadable(library)}
    return subprocess.run([tool], env=environment, capture_output=True, timeout=300, check=False).returncode


@pytest.mark.parametrize("name", CHECKS)
def test_each_check_finds_its_place(name: str, tmp_path: Path) -> None:
    ship(load("default"), tmp_path)
    before = {path: path.read_text() for path in tmp_path.rglob("*.[ch]")}
    write_checks(tmp_path, CHECKS[name])
    changed = [path for path, text in before.items() if path.read_text() != text]
    assert len(changed) == len({edit.file for edit in CHECKS[name]})
    assert any("__builtin_trap();" in path.read_text() for path in changed)


def test_other_text_is_an_error(tmp_path: Path) -> None:
    ship(load("default"), tmp_path)
    write_checks(tmp_path, CHECKS["flush: start of a block"])
    with pytest.raises(CheckFailed, match=r"bitmap\.h: the emitted C has no longer: "):
        write_checks(tmp_path, CHECKS["flush: start of a block"])


@pytest.mark.thorough
def test_the_checks_of_slow_paths_end_misuse_that_default_lets_pass(tmp_path: Path) -> None:
    design = load("default")
    ship(design, tmp_path)
    write_checks(tmp_path, CHECKS["the last three"])
    library = build_emitted(tmp_path, tmp_path / "libcheck.so", own=design.compile_flags)
    for name in ("double_free", "free_inside", "double_free_run", "free_inside_run"):
        assert (ends(name, library_of(design)), ends(name, library)) == (0, -signal.SIGILL), name
