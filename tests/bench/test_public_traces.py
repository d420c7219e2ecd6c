"""Traces of other tools go from their files to measurements: made ones, and public ones where a folder has them."""

import os
from pathlib import Path
from unittest import mock

import msgspec
import pytest
from test_import_kernels import calls

from heapsmith.bench.common.command import run
from heapsmith.bench.gates import imports, public_traces
from heapsmith.model.errors import BadInput, CheckFailed
from heapsmith.model.trace.imports import android, malloc_bench, rep
from heapsmith.model.trace.imports.formats import FORMATS
from heapsmith.model.trace.imports.source import Source

GIVEN = os.environ.get("HEAPSMITH_PUBLIC_TRACES", "")
given = pytest.mark.skipif(not GIVEN, reason="HEAPSMITH_PUBLIC_TRACES names no folder of public traces")


def rows_of(folder: Path, keep: Path, capsys: pytest.CaptureFixture[str]) -> list[public_traces.Trace]:
    words = [str(folder), "--keep", str(keep), "--rounds", "2", "--simulations", "8"]
    assert run(public_traces.main, [*words, "--json"]) == 0
    return msgspec.json.decode(capsys.readouterr().out, type=list[public_traces.Trace])


def sound(row: public_traces.Trace, keep: Path) -> None:
    assert row.verified
    assert row.default_peak >= 1
    assert [one.library for one in row.measured][:2] == ["glibc", "default"]
    assert len(row.measured) == 3
    assert row.measured[0].time == row.measured[0].peak_rss == 1
    assert all(one.time_low <= one.time <= one.time_high for one in row.measured)
    assert (keep / f"{row.name}.c" / "MANIFEST").is_file()


@pytest.mark.big
def test_made_traces(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "made").mkdir()
    imports.write("android", tmp_path / "made" / "one.android", 1)
    (tmp_path / "made" / "README.md").write_text("no trace")
    (row,) = rows_of(tmp_path / "made", tmp_path / "keep", capsys)
    sound(row, tmp_path / "keep")
    assert (row.name, row.format, row.threads) == ("one", "android", 4)
    before = {file: file.stat().st_mtime_ns for file in (tmp_path / "keep").glob("one.[ht]*")}
    assert rows_of(tmp_path / "made", tmp_path / "keep", capsys)[0].events == row.events
    assert before == {file: file.stat().st_mtime_ns for file in (tmp_path / "keep").glob("one.[ht]*")}


@pytest.mark.thorough
def test_what_is_wrong_is_named(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="expected a folder with traces of other tools"):
        run(public_traces.main, [str(tmp_path)])
    (tmp_path / "broken").write_text("1: malloc 0xa0 8\n1: what\n")
    with pytest.raises(CheckFailed, match=r"broken: line 2: expected `thread: operation"):
        run(public_traces.main, [str(tmp_path)])


@given
@pytest.mark.big
def test_the_kernels_read_public_traces_like_the_readers_of_any_line() -> None:
    kinds = {"android": android, "malloc-bench": malloc_bench, "rep": rep}
    files = [file for file in sorted(Path(GIVEN).rglob("*")) if file.is_file() and file.suffix != ".md"]
    compared = 0
    for file in files:
        with Source(file) as source:
            name = next((one.name for one in FORMATS.values() if one.recognises(source.head)), None)
        if name in kinds and file.stat().st_size < 1 << 20:
            found = calls(kinds[name].read, file)
            with mock.patch.object(kinds[name], "fast_take", return_value=None):
                assert found == calls(kinds[name].read, file)
            assert found[1] is None
            compared += 1
    assert compared


@given
@pytest.mark.big
def test_public_traces(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for row in rows_of(Path(GIVEN), tmp_path, capsys):
        sound(row, tmp_path)
