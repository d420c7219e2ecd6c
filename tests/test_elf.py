"""What a program's file says of its start, whatever bytes it holds."""

import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from heapsmith.bench.common.elf import loader, refuse_musl, why_not_preloaded
from heapsmith.model.errors import Missing

PROGRAM = Path(sys.executable).resolve().read_bytes()[:4096]
CHANGES = st.lists(st.tuples(st.integers(0, 63) | st.integers(64, 1023), st.integers(0, 255)), min_size=1, max_size=8)


def test_a_whole_program() -> None:
    found = loader(Path(sys.executable))
    assert found is not None
    assert found.startswith("/")
    assert why_not_preloaded(Path(sys.executable)) is None


def test_a_program_of_musl(tmp_path: Path) -> None:
    name, glibc = b"/lib/ld-musl-x86_64.so.1", b"/lib64/ld-linux-x86-64.so.2"
    assert PROGRAM.count(glibc) == 1
    (tmp_path / "program").write_bytes(PROGRAM.replace(glibc, name.ljust(len(glibc), b"\0")))
    (tmp_path / "script").write_text(f"#!{tmp_path}/program\n")
    for file in ("program", "script"):
        with pytest.raises(Missing, match=r"program: linked with musl \(ld-musl-x86_64.so.1\), which is not supported"):
            refuse_musl(tmp_path / file)
    refuse_musl(Path(sys.executable))
    refuse_musl(tmp_path / "none")


@settings(max_examples=500, deadline=None)
@given(changes=CHANGES, length=st.integers(0, len(PROGRAM)) | st.just(len(PROGRAM)))
def test_any_bytes(changes: list[tuple[int, int]], length: int, tmp_path_factory: Any) -> None:
    path = tmp_path_factory.getbasetemp() / "program"
    content = bytearray(PROGRAM)
    for place, byte in changes:
        content[place] = byte
    path.write_bytes(content[:length])
    found = why_not_preloaded(path)
    assert found is None or found.startswith(f"{path}: statically linked")
