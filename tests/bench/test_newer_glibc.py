"""Peaks under a newer glibc: programs run by the loader that they are given."""

import shutil
from pathlib import Path

import pytest

from heapsmith.bench.programs.programs import Program
from heapsmith.bench.studies import newer_glibc


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
