"""The table of a newer glibc in docs/lab/bench.md is that of its data; programs run by the loader they are given."""

import shutil
from pathlib import Path

import msgspec
import pytest

from heapsmith.bench.programs.programs import Program
from heapsmith.bench.studies import newer_glibc
from heapsmith.model.errors import CheckFailed


def test_the_page_has_the_table_of_the_data(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    assert newer_glibc.main(check=True) == 0
    of = msgspec.json.decode(newer_glibc.DATA.read_bytes(), type=newer_glibc.Data)
    assert len(of.rows) >= 6
    assert {one.program for one in of.rows} <= {*newer_glibc.NAMES}
    page = tmp_path / "bench.md"
    page.write_text(newer_glibc.PAGE.read_text().replace(f"glibc {of.newer} |", "glibc 9 |"))
    monkeypatch.setattr(newer_glibc, "PAGE", page)
    with pytest.raises(CheckFailed, match=r"bench\.md: its table is not that of newer_glibc\.json"):
        newer_glibc.main(check=True)


def test_a_program_runs_by_the_loader_of_the_folder(tmp_path: Path) -> None:
    """The program prints its own mappings, of which the C library is one."""
    system = Path("/") / newer_glibc.FOLDER
    if not (system / newer_glibc.LOADER).exists():
        pytest.skip("the system's C library lies elsewhere")
    other = tmp_path / "libc"
    other.mkdir()
    for name in ("libc.so.6", newer_glibc.LOADER):
        shutil.copy(system / name, other)
    program = Program("grep", "grep", ["grep", "-c", str(other / "libc.so.6"), "/proc/self/maps"], ())
    of_other, of_system = (newer_glibc.peak(program, folder, tmp_path) for folder in (other, system))
    assert min(of_other[0], of_system[0]) > 0
    assert of_other[1] != of_system[1]  # a count of lines, and none with the exit status 1
