"""Single checks in the emitted C: each finds its place, and the library made of it ends misuse."""

import os
import signal
import subprocess
from pathlib import Path

import pytest

from heapsmith.bench.attacks.attacks import Attack
from heapsmith.bench.studies.single_checks import CHECKS, PAIR, WITHOUT_LAST, Row, at_level, figures, write_checks
from heapsmith.codegen.build import build_emitted
from heapsmith.codegen.built import library_of
from heapsmith.codegen.ship import ship
from heapsmith.codegen.toolchain import build_tool
from heapsmith.model.errors import CheckFailed
from heapsmith.tools.common.preload import preloadable
from heapsmith.tools.report.hardening import Figures, Stopped

MISUSE = Path(__file__).parent.parent / "misuse"


def ends(name: str, library: Path) -> int:
    """The exit status of a program of misuse under a library."""
    tool = build_tool(name, [MISUSE / f"{name}.c"], ["-O1", "-fno-builtin", "-w", f"-I{MISUSE}"])
    environment = {"LD_PRELOAD": preloadable(library)}
    return subprocess.run([tool], env=environment, capture_output=True, timeout=300, check=False).returncode


@pytest.mark.parametrize("name", CHECKS)
def test_each_check_finds_its_place(name: str, tmp_path: Path) -> None:
    level, edits = CHECKS[name]
    ship(at_level(level), tmp_path)
    before = {path: path.read_text() for path in tmp_path.rglob("*.[ch]")}
    write_checks(tmp_path, edits)
    changed = [path for path, text in before.items() if path.read_text() != text]
    assert [path.name for path in changed] == ["fast.c"]
    traps = "__builtin_trap();" in changed[0].read_text()
    assert traps == (edits != WITHOUT_LAST)


def test_other_text_is_an_error(tmp_path: Path) -> None:
    ship(at_level("basic"), tmp_path)
    write_checks(tmp_path, WITHOUT_LAST)
    with pytest.raises(CheckFailed, match=r"fast\.c: the emitted C has no longer: hs_look_at_last"):
        write_checks(tmp_path, WITHOUT_LAST)


@pytest.mark.thorough
def test_the_key_in_the_first_word_ends_misuse_that_default_lets_pass(tmp_path: Path) -> None:
    level, edits = CHECKS["`off`, key in the first word"]
    design = at_level(level)
    ship(design, tmp_path)
    write_checks(tmp_path, edits)
    library = build_emitted(tmp_path, tmp_path / "libcheck.so", own=design.compile_flags)
    assert (ends("double_free_later", library_of(design)), ends("double_free_later", library)) == (0, -signal.SIGILL)


def test_the_figures_of_the_levels() -> None:
    """Those of the first rows: glibc, then each level."""
    ends = [Attack("a", "small", end) for end in ("stopped", "foiled", "hit")]
    found = [Row("", {PAIR: 20.0 + 2 * more}, 0, 0, ends[:more] * 2) for more in range(6)]
    assert figures(found[:5]) == Figures(
        0,
        os.confstr("CS_GNU_LIBC_VERSION") or "",
        0,
        {
            "off": Stopped(2),
            "basic": Stopped(2, 2.0),
            "checks": Stopped(2, 4.0),
            "full": Stopped(2, 6.0),
        },
    )
