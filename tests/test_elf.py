"""What a program's file says of its start, whatever bytes it holds."""

import sys
from pathlib import Path
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from heapsmith.bench.common.elf import loader, why_not_preloaded

PROGRAM = Path(sys.executable).resolve().read_bytes()[:4096]
CHANGES = st.lists(st.tuples(st.integers(0, 63) | st.integers(64, 1023), st.integers(0, 255)), min_size=1, max_size=8)


def test_a_whole_program() -> None:
    found = loader(Path(sys.executable))
    assert found is not None
    assert found.startswith("/")
    assert why_not_preloaded(Path(sys.executable)) is None


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
