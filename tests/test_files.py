"""Files appear whole or not at all: content, mode, what is left after a failure, many writers at once."""

import os
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from heapsmith.model.errors import BadInput, CheckFailed, Missing
from heapsmith.model.files import staged, write_whole


def test_a_file_in_a_new_folder_has_the_usual_mode(tmp_path: Path) -> None:
    usual = tmp_path / "usual"
    usual.touch()
    out = tmp_path / "a folder" / "file"
    write_whole(out, b"content")
    assert out.read_bytes() == b"content"
    assert out.stat().st_mode == usual.stat().st_mode
    assert os.listdir(out.parent) == ["file"]


def test_a_failure_leaves_what_was_there(tmp_path: Path) -> None:
    out = tmp_path / "file"
    write_whole(out, b"old")

    def fail(written: Path) -> None:
        written.write_bytes(b"half")
        raise CheckFailed("gcc failed")

    with pytest.raises(CheckFailed, match="gcc failed"), staged(out) as written:
        fail(written)
    assert out.read_bytes() == b"old"
    assert os.listdir(tmp_path) == ["file"]


def test_what_the_system_refuses(tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    with pytest.raises(BadInput, match=r"folder: cannot be written: Is a directory"):
        write_whole(tmp_path / "folder", b"")
    with (
        pytest.raises(Missing, match=r"file: cannot be written: File exists"),
        staged(Path("/dev/null/file"), Missing),
    ):
        pass
    assert os.listdir(tmp_path) == ["folder"]


def test_writers_at_once_do_not_mix(tmp_path: Path) -> None:
    contents = [bytes([number]) * 100_000 for number in range(16)]
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda content: write_whole(tmp_path / "file", content), contents))
    assert (tmp_path / "file").read_bytes() in contents
    assert os.listdir(tmp_path) == ["file"]
