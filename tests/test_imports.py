"""Files of other formats: what they become, how they are recognised, and what damage to them does."""

import gzip
import io
import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
import zstandard
from import_records import Memray
from import_samples import (
    ANDROID,
    BYTEHOUND,
    INTERPRETED,
    MALLOC_BENCH,
    MEMRAY,
    MTRACE,
    SAMPLES,
    Sample,
    hold_damage,
    zipped,
)

from heapsmith.model.errors import BadInput
from heapsmith.model.trace.frames import MAGIC
from heapsmith.model.trace.imports import malloc_bench
from heapsmith.model.trace.imports.formats import FORMATS, import_trace
from heapsmith.model.trace.reader import TraceReader, print_events, verify
from heapsmith.model.trace.stats import trace_info

lz4 = pytest.importorskip("lz4", reason="the files of memray and bytehound are packed with lz4")
pytest.importorskip("lz4.frame")

each_sample = pytest.mark.parametrize("sample", SAMPLES, ids=lambda sample: sample.name)


def events(trace: Path) -> list[str]:
    out = io.StringIO()
    print_events(trace, out)
    return [line.partition(" ")[2] for line in out.getvalue().splitlines()]


def test_every_format_has_a_sample_and_a_row_in_the_page() -> None:
    assert {sample.name for sample in SAMPLES} == set(FORMATS)
    page = (Path(__file__).parent.parent / "docs" / "other-tools.md").read_text().partition("\n### How calls")[0]
    assert re.findall(r"^\| `([a-z-]+)` \|", page, re.MULTILINE) == list(FORMATS)


@each_sample
def test_a_file_is_recognised_and_becomes_events(tmp_path: Path, sample: Sample) -> None:
    (tmp_path / "file").write_bytes(sample.content)
    footer = import_trace(tmp_path / "file", tmp_path / "out.hst")
    assert events(tmp_path / "out.hst") == sample.events
    with TraceReader(tmp_path / "out.hst") as trace:
        assert trace.header.source == sample.name
        assert trace.footer == footer
    assert trace_info(tmp_path / "out.hst").inexact == footer.extra["inexact"]


@pytest.mark.parametrize("size", [1, 5, 1000])
def test_a_message_may_come_in_pieces(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, size: int) -> None:
    monkeypatch.setattr(malloc_bench, "_PIECE_BYTES", size)
    (tmp_path / "file").write_bytes(MALLOC_BENCH)
    import_trace(tmp_path / "file", tmp_path / "out.hst")
    assert events(tmp_path / "out.hst") == next(one for one in SAMPLES if one.name == "malloc-bench").events


@pytest.mark.parametrize("pack", [gzip.compress, zstandard.compress, lz4.frame.compress, zipped, bytes])
def test_a_file_may_be_packed(tmp_path: Path, pack: Callable[[bytes], bytes]) -> None:
    (tmp_path / "file").write_bytes(pack(MTRACE))
    assert import_trace(tmp_path / "file", tmp_path / "out.hst").events == 4


def test_unknown_frees_and_missing_frees_and_late_times_are_counted(tmp_path: Path) -> None:
    text = b"1: malloc 0xa0 8 50 60\n2: malloc 0xb0 8 40 70\n1: malloc 0xa0 9 80 90\n1: free 0xcc 90 91\n"
    (tmp_path / "file").write_bytes(text)
    footer = import_trace(tmp_path / "file", tmp_path / "out.hst")
    assert events(tmp_path / "out.hst") == [
        "0 0 malloc 0 8 -",
        "0 1 malloc 1 8 -",
        "30 0 free 0 - -",
        "30 0 malloc 0 9 -",
    ]
    assert footer.foreign_frees == 1
    assert footer.extra["inexact"] == [
        "1 frees were missing: another block was born in the place of the block",
        "1 times lay before that of the event before them, and were moved to it",
    ]


def test_the_share_of_frees_that_may_be_of_another_block(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(INTERPRETED)
    footer = import_trace(tmp_path / "file", tmp_path / "out.hst")
    assert footer.extra["inexact"][-1] == "33.3% of the frees may be of another live block of the same size and stack"


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"text\n", "the format is not known by its first bytes; say it with --from: rep, "),
        (b"", "is empty; expected a file of another tool"),
        (MAGIC, "is a trace of heapsmith already; expected a file of another tool"),
        (b"heap_v2/524288\n", "this is a jemalloc heap profile, which has sums over blocks"),
        (b"PERFILE2" + bytes(96), "this is a recording of perf, which has no allocations and frees in their order"),
        (b"\x7fELF" + bytes(60), "this is a program, a library or a core file, which has no allocations"),
        (b"heap profile:      1:  100 [ 2: 200] @ heapprofile\n", "this is a gperftools heap profile, which"),
        (b'{"dhatFileVersion":2', "this is a DHAT profile, which"),
        (b"desc: --massif-out-file=x\ncmd: ./x\n", "this is a massif profile, which"),
        (gzip.compress(b"\x0a\x04\x08\x01\x10\x02\x0a\x04\x08\x03\x10\x04", mtime=0), "this is a pprof profile, which"),
        (zipped(ANDROID)[:-10], "cannot be unpacked: "),
        (gzip.compress(MTRACE, mtime=0)[:-10], "cannot be unpacked: Compressed file ended"),
        (zstandard.compress(MTRACE)[:-3], "cannot be unpacked: it ends within a zstd frame"),
        (lz4.frame.compress(MTRACE)[:-3], "cannot be unpacked: it ends within an LZ4 frame"),
        (lz4.frame.compress(MEMRAY)[:-3], "cannot be unpacked: it ends within an LZ4 frame"),
        (MEMRAY[:-1], "record 24: the file is cut off here"),
        (MEMRAY[:-1] + bytes(9), "record 24: it is none of the format: the file is damaged"),
        (MEMRAY[:30], "its header: it is damaged, or the file is cut off"),
        (Memray(native=False).header("a", sums=True), "its header: a file of `memray run --aggregate` has sums"),
        (Memray(native=False, version=11).header("a"), "its header: expected a file of memray of version 12 or 13"),
        (BYTEHOUND[:-3], "block 1: cannot be unpacked: Decompression failed"),
        (BYTEHOUND + b"\1\0", "block 2: the file is cut off within it"),
        (BYTEHOUND + b"\2\4\0\0\0\x30\0\0\0", "record 32: it is none of the format: the file is damaged"),
        (BYTEHOUND + b"\2\4\0\0\0\x03\0\0\0", "record 32: the file is cut off here: the rest is missing"),
        (b"1: malloc 0xa0 8\n1: malloc 0xa0\n", "line 2: malloc: expected 2 fields"),
        (b"1: malloc 0xa0 8\n1: calloc 0xb0 99999999999 99999999999\n", "line 2: expected a product of at most "),
        (b"1: malloc 0xa0 8\nx: free 0xa0\n", "line 2: thread: expected a whole number from 0 "),
        (MTRACE[:-6] + b"@ x > 0x1 0x2\n", "line 10: expected a line of mtrace"),
        (MALLOC_BENCH[:-3], "line 8: it ends within this line"),
        (MALLOC_BENCH[:4] + b"\xff" + MALLOC_BENCH[5:], "line 1: not of malloc-bench's message: "),
        (MALLOC_BENCH + MALLOC_BENCH, "line 10: allocation of id 1, which is live"),
        (b"op,pointer,size\nmalloc,0xa0,8\nmalloc,0xb0,x\n", "row 3: In CSV column #2: CSV conversion error to int64"),
        (b"op,pointer,size\nmalloc,0xa0,8\nnew,0xb0,8\n", "row 3: op: expected one of malloc, calloc, realloc, "),
        (b"op,pointer,size\nmalloc,0xa0,8\nmalloc,0xb0,-8\n", "row 3: size: expected a number from 0 to "),
        (b'{"op": "malloc", "pointer": 3}\n{"op": "malloc", "size": "x"}\n', "line 2: Expected `int`, got `str` - at"),
        (b'{"op": "malloc", "pointer": 3}\n{"op": "new"}\n', "line 2: Invalid enum value 'new'"),
        (b"PAR1 and no table PAR1", "the table: "),
        (b"v 10400 4\n+ 8 1 a0\n", "line 1: expected a file of heaptrack of version 0 to 3"),
        (b"v 10400 3\n+ 8 1\n", "line 2: expected 3 numbers, got 2"),
        (b"v 10400 3\na 8 1\n+ 1\n", "line 3: pair 1: the file has 1 so far, from 0"),
        (b"v 10400 3\na 8 1\n- 0\n", "line 3: expected a pair that has a live block, got '0'"),
        (b"--7-- malloc(8) = 0xA0\n--8-- malloc(8) = 0xA0\n", "line 2: a second process; "),
        (b"--7-- malloc(8) = 0xA0\n--7-- malloc(8) 0xA0\n", "line 2: expected a call as valgrind prints it"),
        (b"1 malloc(8) = 0xa0\n1 calloc(8) = 0xa0\n", "line 2: calloc: expected 2 arguments, got '8'"),
        (b"1 malloc(8 <unfinished ...>\n1 <... free resumed> ) = 2\n", "line 2: expected the end of malloc"),
    ],
)
def test_what_is_wrong_is_named(tmp_path: Path, content: bytes, words: str) -> None:
    (tmp_path / "file").write_bytes(content)
    with pytest.raises(BadInput, match="^" + re.escape(f"{tmp_path / 'file'}: {words}")):
        import_trace(tmp_path / "file", tmp_path / "out.hst")
    assert os.listdir(tmp_path) == ["file"]


def test_mapped_files_may_have_any_name(tmp_path: Path) -> None:
    text = b"v 10400 3\nm 4 /a\xff  1000 0 100\nm 3 /\xfe  2000 0 100\nt 1010 0\nt 2020 1\n+ 8 2 a0\n"
    (tmp_path / "file").write_bytes(text)
    import_trace(tmp_path / "file", tmp_path / "out.hst")
    with TraceReader(tmp_path / "out.hst") as trace:
        tree = trace.stacks()
    assert tree is not None
    assert [one.path for one in tree.modules] == ["/a\\xff ", "/\\xfe "]
    assert tree.offset[tree.path(1)].tolist() == [0x20, 0x10]


@pytest.mark.thorough
def test_standard_input_is_named(tmp_path: Path) -> None:
    """A file of memray may come through a pipe; damage to it names standard input."""
    command = [sys.executable, "-m", "heapsmith", "trace", "import", "-", "-o", str(tmp_path / "out.hst")]
    assert subprocess.run(command, input=MEMRAY, capture_output=True, check=False).returncode == 0
    (tmp_path / "out.hst").unlink()
    done = subprocess.run(command, input=MEMRAY[:-1], capture_output=True, check=False)
    said = b"heapsmith: standard input: record 24: the file is cut off here: the rest is missing\n"
    assert (done.returncode, done.stderr) == (BadInput.exit_code, said)
    assert os.listdir(tmp_path) == []


def test_salvage_keeps_what_lies_before_the_damage(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"1: malloc 0xa0 8\n1: malloc 0xb0 9\n1: what\n1: free 0xa0\n")
    footer = import_trace(tmp_path / "file", tmp_path / "out.hst", salvage=True)
    assert (footer.events, verify(tmp_path / "out.hst").live_at_end) == (2, 2)
    assert str(footer.salvaged).startswith(f"{tmp_path / 'file'}: line 3: expected `thread: operation")
    (tmp_path / "file").write_bytes(b"1: what\n")
    with pytest.raises(BadInput, match="line 1: "):
        import_trace(tmp_path / "file", tmp_path / "out.hst", "android", salvage=True)


@pytest.mark.parametrize("files", [24, pytest.param(500, marks=pytest.mark.big)])
@each_sample
def test_damage_ends_in_a_trace_or_in_one_line(tmp_path: Path, sample: Sample, files: int) -> None:
    hold_damage(tmp_path, sample.name, sample.content, files)
